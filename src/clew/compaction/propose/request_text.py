"""A long request in less room: its task stays, its examples go first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clew.compaction.propose.excerpt import LEAST_HEAD, REQUEST_HEAD, ExcerptSource, both_ends
from clew.compaction.propose.lines import LEAST_GAP, Span
from clew.compaction.quote_claims import beginning
from clew.rules.request_heading import request_span

LEAST_ORDERS = 400
"""Characters from which what a tool wrote around a request is quoted in part: in less, nothing of it can be
understood. Chosen by hand."""
LONG = 2_000
"""Characters from which examples of form are left out of a request although it fits; chosen by hand."""
FIRST_LINES = 4
"""Lines of a block of code that are shown before its rest; chosen by hand."""
TASK_HEAD = 0.85
"""Share of the room for the beginning of a request that opens with its task in a tag: a harness wrote the
rest around it. Chosen by hand."""
OUTLINE_HEAD = 0.35
"""Share of the room of an outline for the beginning, which says what it is all for. Chosen by hand."""
_TASK = re.compile(
    r"\s*<(?:\w+_)?(?:description|issue|task|problem|problem_statement|request|query|goal|question|objective)>",
    re.IGNORECASE,
)
_OF_FORM = re.compile(
    r"\b(?:useful|commands?|responses?|output|edit|tool|usage|format)\b.*\bexamples?\b"
    r"|\bexamples? (?:of an?|responses?|commands?|format)\b|\benvironment details\b",
    re.IGNORECASE,
)
"""Headings of examples of what a reply or a command looks like, not of what to do..."""
_EXAMPLE = re.compile(rf"\bexamples?\b|{_OF_FORM.pattern}", re.IGNORECASE)
"""...and of any examples, which go if room is short."""
_HEADING = re.compile(r"(?P<level>#{1,6})\s|<(?P<tag>\w[\w-]{2,40})>\s*$|\*\*[^*]+\*\*:?\s*$")
_LONGEST_HEADING = 120


def request_excerpt(text: str, most_characters: int) -> str | None:
    """Return a request as fully as fits, in whole lines with omissions marked.

    Returns None if a line is too long, or if whole lines would not show what is asked for.
    """
    fits = len(text) <= most_characters
    if fits and len(text) <= LONG:
        return text
    asked = None if fits else request_span(text)
    if asked and asked[1] - asked[0] <= most_characters:
        return _with_orders(text, asked, most_characters)
    form = _sections(text, _OF_FORM if fits else _EXAMPLE)
    lines = [line for line in _lines(text) if line not in form]
    if not form and fits:
        return text
    code = _code(text, lines)
    task = [line for line in lines if line not in code]
    if any(end - start > most_characters for start, end in lines):
        return both_ends(text, most_characters)
    if _size(task) > most_characters:
        chosen = _ends(task, most_characters, TASK_HEAD if _TASK.match(text) else REQUEST_HEAD)
    else:
        chosen = {*task, *_first(sorted(code), most_characters - _size(task))}
    return ExcerptSource(text).render(chosen, most_characters) if chosen else None


def outline(text: str, most_characters: int) -> str:
    """Return the beginning of a plan or prompt, its orders, headings and steps, with omissions marked."""
    if len(text) <= most_characters:
        return text
    head = len(beginning(text, int(most_characters * OUTLINE_HEAD)))
    room = most_characters - head
    return ExcerptSource(text, is_guide=True).excerpt(room, ((0, head),), most_characters, LEAST_GAP)


def _with_orders(text: str, asked: Span, most_characters: int) -> str:
    """Return a request and of what a tool wrote around it the orders, before what only describes."""
    room = most_characters - (asked[1] - asked[0])
    if room >= LEAST_ORDERS:
        return ExcerptSource(text, is_guide=True).excerpt(room, (asked,), most_characters, LEAST_GAP)
    own = {line for line in _lines(text) if line[1] > asked[0] and line[0] < asked[1]}
    return ExcerptSource(text).render(own, most_characters)


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _size(lines: Iterable[Span]) -> int:
    return sum(end - start + 1 for start, end in lines)


def _first(lines: Iterable[Span], room: int) -> Iterator[Span]:
    """Yield the first lines, as many as fit."""
    for line in lines:
        room -= _size([line])
        if room < 0:
            return
        yield line


def _ends(lines: list[Span], most_characters: int, share: float) -> set[Span]:
    """Return the first of the lines in this share of the room, and the last; none if the first say little."""
    for_head = int(most_characters * share)
    least = min(LEAST_HEAD, for_head // 2)
    head = list(_first(lines, for_head))
    if _size(head) < least:  # a long line is often the request itself: rather that than the end
        head = list(_first(lines[: len(head) + 1], most_characters))
    if _size(head) < least:
        return set()
    tail = _first(reversed(lines[len(head) :]), most_characters - _size(head))
    return {*head, *tail}


def _sections(text: str, wanted: re.Pattern[str]) -> set[Span]:
    """Return the lines below the headings that match, up to the next heading of that level or above."""
    found: set[Span] = set()
    level, closing, fenced = 0, "", False
    for start, end in _lines(text):
        line = text[start:end]
        fenced ^= line.lstrip().startswith("```")
        heading = _HEADING.match(line) if not fenced and len(line) <= _LONGEST_HEADING else None
        own = len(heading["level"] or "") or len("######+") if heading else 0
        if closing and line.strip() == closing:
            closing, level = "", 0
        elif level and not closing and (line.startswith("</") or (heading and own <= level)):
            level = 0
        if level:
            found.add((start, end))
        elif heading and wanted.search(line.replace("_", " ")):
            level, closing = own, f"</{heading['tag']}>" if heading["tag"] else ""
    return found


def _code(text: str, lines: Iterable[Span]) -> set[Span]:
    """Return the lines inside blocks of code, without the first of each."""
    found: set[Span] = set()
    inside = -1
    for start, end in lines:
        if text.startswith("```", start):
            inside = 0 if inside < 0 else -1
        elif inside >= 0:
            inside += 1
            if inside > FIRST_LINES:
                found.add((start, end))
    return found
