"""Find pasted terminal output: the lines that programs print, and everything between them.

A log line may read like an order ("Keeping test repo at: …", "No checkpoints in the branch"); its neighbours
show that it is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE = re.compile(r"[^\n]+")
_PRINTED = re.compile(
    r"""[ \t]*(?:
      ={2,}\ .*\S\ ?={2,}[ \t]*$ | -{3,}\ .*\S\ -{3,}[ \t]*$
    | \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d | \[?\d\d:\d\d:\d\d\b
    | \[?(?:ERROR|FATAL|INFO|DEBUG|TRACE|WARN)\b[\]:| ]
    | \[[A-Z][\w.-]{1,30}(?:\ [\w()-]{1,30}){0,2}\]:?\ \S
    | [⏺⎿✓✗✔✘│├└╭╰❯➜⏵●]
    | \d{1,5}\ {1,4}[-+]\s | (?:\$|%|>>>)\ \S
    | Traceback\ \(most | File\ "[^"]+",\ line | at\ [\w.$<>]+\s?\(
    | (?:create|delete)\ mode\ \d{6}\b | \d+\ files?\ changed
    | (?:[\w./-]+:\ ){1,3}[^\n]*\b(?:cannot|not\ found|[Nn]o\ such|[Ff]ailed|[Dd]enied|unknown)\b
    )""",
    re.VERBOSE,
)
"""How lines begin that only programs print."""
_LIKE_PRINTED = re.compile(
    r"""[ \t]*(?:
      [A-Z]\w+ing\b[^.!?\n]{0,80}(?:\.\.\.|…|:[ ]\S+)[ \t]*$
    | [A-Z][\w ]{1,30}:[ ][^\s/]*+/\S++[ \t]*+$ | [\w.~-]*+/\S++[ \t]*+$
    | "[\w.-]+":\s.* | [{}\[\]]+,?[ \t]*$
    )""",
    re.VERBOSE,
)
"""Forms of lines that both programs and people write."""
_STATUS = re.compile(r"[A-Z]\w+ing\b[^.!?\n]{0,80}:[ ][~.\w-]*/\S+[ \t]*$")
_LOOKED_AT = 300
"""Characters of a line by which it is judged."""
_FEWEST_LINES = 3
_WIDEST_GAP = 12
"""Unindented lines between two printed ones, above which they belong to different pastes; chosen by hand."""


_MARGIN = 40
_BLANK_BEFORE = re.compile(r"\n[ \t]*\n[ \t]*\Z")
_BLANK_BEHIND = re.compile(r"[ \t]*\n[ \t]*(?:\n|\Z)")


def is_status(line: str) -> bool:
    """Return True if a line is a program's status about a path: "Keeping the repo at: /tmp/x"."""
    return _STATUS.match(line) is not None


def printed(text: str) -> list[tuple[int, int]]:
    """Return the spans of pasted output, from the first to the last recognised line."""
    if text.count("\n") < _FEWEST_LINES:
        return []
    return [(start, end) for start, end, sure, many in _runs(text) if sure > 1 and many >= _FEWEST_LINES]


def _runs(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield runs of lines that look printed: start, end, number of certain lines, number of likely lines."""
    start, end, sure, many, gap = -1, -1, 0, 0, 0
    for line in _LINE.finditer(text):
        said = line[0][:_LOOKED_AT]
        surely = _PRINTED.match(said) is not None
        if not surely and not _LIKE_PRINTED.match(said):
            gap += not said[0].isspace()
            continue
        if start >= 0 and gap > _WIDEST_GAP:
            yield start, end, sure, many
            start, sure, many = -1, 0, 0
        if start < 0:
            start = line.start()
        end, sure, many, gap = line.end(), sure + surely, many + 1, 0
    if start >= 0:
        yield start, end, sure, many


def stands_alone(text: str, start: int, end: int) -> bool:
    """Return True if a span is a paragraph of its own, as people write between two pastes."""
    before, behind = text[max(0, start - _MARGIN) : start], text[end : end + _MARGIN]
    return _BLANK_BEFORE.search(before) is not None and _BLANK_BEHIND.match(behind) is not None
