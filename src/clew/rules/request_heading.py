"""Find a person's request at the end of a long text that a tool wrote around it.

Some tools send pages of their own instructions in the user's name and put the request last, under a heading
("# User Request", "## My request for Codex:") or in a tag (``<user_query>``). The request is what the person
said; what precedes it are instructions of the tool.
"""

from __future__ import annotations

import re
from collections import deque

from clew.message.text import lazy_pattern
from clew.rules.pasted import is_briefing

SHORTEST_PREAMBLE = 600
"""Characters before such a heading from which they are a tool's instructions; chosen by hand."""
LONGEST_SHARE = 0.5
"""Share of a text that the part below a heading such as "Task" may have; chosen by hand."""
_OF_USER = (
    r"(?:(?:the\ )?(?:users?(?:['’]s?)?|human)[ _-]|my\ )(?:request|query|task|prompt|message|question|input)"
)
_TASK = r"(?:(?:your|the|current)\ )?tasks?"
_HEADINGS = lazy_pattern(
    rf"""^[ \t]*(?:
      (?P<level>\#{{1,4}})[ \t]+(?:{_OF_USER}(?:\ for\ \w+)?|{_TASK}|request|query):?[ \t]*$
    | (?:\*\*)?(?:{_OF_USER}(?:\ for\ \w+)?|{_TASK})(?:\*\*:|:\*\*|:)
    )""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_NAMES_USER = lazy_pattern(_OF_USER, re.VERBOSE | re.IGNORECASE)
_TAGGED = lazy_pattern(
    r"<(user_(?:query|request|message|prompt|task))>(.*?)</\1>\s*\Z", re.DOTALL | re.IGNORECASE
)
_NEXT_HEADING = lazy_pattern(r"^(#{1,6})[ \t]+\S|^```", re.MULTILINE)


def request_span(text: str) -> tuple[int, int] | None:
    """Return where the person's request is in a text of a tool; None if the text is not divided like that.

    Only a heading that names the user's request counts, or one such as "Task" in a text that assigns the
    agent its role. No other section may follow.
    """
    if len(text) <= SHORTEST_PREAMBLE:
        return None
    if tagged := _TAGGED.search(text):
        return _stripped(text, *tagged.span(2)) if tagged.start() >= SHORTEST_PREAMBLE else None
    headings = deque(_HEADINGS.finditer(text, SHORTEST_PREAMBLE), maxlen=1)
    if not headings:
        return None
    last = headings[0]
    start = last.end()
    span = _stripped(text, start, len(text))
    if span is None or _is_followed(text, start, len(last["level"] or "")) or _in_code(text, last.start()):
        return None
    if _NAMES_USER.search(text, last.start(), last.end()):
        return span
    return span if len(text) - start <= len(text) * LONGEST_SHARE and is_briefing(text) else None


def _is_followed(text: str, start: int, level: int) -> bool:
    """Return True if another heading of this level or above follows; level 0 is a line of its own."""
    fenced = False
    for found in _NEXT_HEADING.finditer(text, start):
        if found[1] is None:
            fenced = not fenced
        elif not fenced and (not level or len(found[1]) <= level):
            return True
    return False


def _in_code(text: str, at: int) -> bool:
    return len(re.findall(r"^```", text[:at], re.MULTILINE)) % 2 == 1


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return a span without white space around it, and without the quote that closes the whole text."""
    while start < end and text[start].isspace():
        start += 1
    end = start + len(text[start:end].rstrip())
    if text.lstrip()[:1] == '"' and text[start:end].endswith('"'):
        end = start + len(text[start : end - 1].rstrip())
    return (start, end) if any(map(str.isalnum, text[start:end])) else None
