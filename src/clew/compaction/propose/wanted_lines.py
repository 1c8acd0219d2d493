r"""Find the lines of a read file that the work names: ranges by number, and what it calls by name.

An excerpt of the file shows these first (``tail_fitter.py``)::

    wanted_spans("39→\n40→def rate(day):\n41→    return 2\n", [(40, 41)], ())  # [(5, 42)]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from clew.compaction.propose.line_kinds import SEARCHED, STRUCTURE_AFTER_BREAK
from clew.compaction.propose.lines import Span, line_end, lines_of
from clew.message.text import LINE_NUMBER

AROUND_LINE = 5
"""Lines before and after one that is named alone; chosen by hand."""
LONGEST_BLOCK = 120
"""Lines of a definition that are looked at for its end; chosen by hand."""
_NUMBERED = re.compile(rf"^[ \t]*(\d+){LINE_NUMBER.removeprefix(chr(92) + 'd+')}", re.MULTILINE)
_DEFINED = re.compile(
    r"\b(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|const|let|var)\s+"
    r"(?:\([^()\n]*\)\s*)?(\w+)"
)
"""The name that a line defines; in Go, behind the receiver."""
_INDENT = re.compile(rf"[ \t]*(?:{LINE_NUMBER})?([ \t]*)(\S?)")
_CLOSING = frozenset(")]}")


def wanted_spans(text: str, ranges: Sequence[tuple[int, int]], names: Collection[str]) -> list[Span]:
    """Return the passages of a text that are named, first those named by line numbers."""
    found: list[Span] = []
    for start, end in (*_numbered(text, ranges), *_defined(text, names)):
        if not any(first < end and start < last for first, last in found):
            found.append((start, end))
    return found


def _numbered(text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Yield the lines of each range; of a single line, also those around it."""
    at = {int(line[1]): line.start() for line in _NUMBERED.finditer(text[:SEARCHED])} if ranges else {}
    for first, last in ranges:
        around = AROUND_LINE if first == last else 0
        shown = [at[number] for number in range(first - around, last + around + 1) if number in at]
        if shown:
            yield shown[0], line_end(text, shown[-1])


def _defined(text: str, names: Collection[str]) -> Iterator[Span]:
    """Yield the definitions of names."""
    if not any(name in text for name in names):
        return
    for line in STRUCTURE_AFTER_BREAK.finditer(f"\n{text[:SEARCHED]}"):
        start, end = line.start(), line.end() - 1
        defined = _DEFINED.search(text, start, end)
        if defined and defined[1] in names:
            yield start, _block_end(text, start)


def _block_end(text: str, start: int) -> int:
    """Return where the block ends that a line opens: before the next line that is not further indented."""
    lines = lines_of(text, start)
    first = next(lines)
    width, end = _indent(text, first)[0], first[1]
    for number, line in enumerate(lines):
        indent, letter = _indent(text, line)
        if number > LONGEST_BLOCK or (letter and indent <= width and letter not in _CLOSING):
            break
        end = line[1] if letter else end
        if letter == "}" and indent <= width:
            break
    return end


def _indent(text: str, line: Span) -> tuple[int, str]:
    """Return how far a line is indented, without its number, and its first character."""
    found = _INDENT.match(text, *line)
    return (len(found[1].expandtabs(4)), found[2]) if found else (0, "")
