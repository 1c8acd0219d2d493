"""Lines of a text by their offsets, and how a long line is cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from clew.message.text import omission_note

LONGEST_LINE = 400
"""Characters shown of a line, half of them from its end; also how far into it an error word counts."""
GAP = 48
"""Characters that a cut inside a line leaves out at least: its note takes half of them, and a path or a name
that is cut for less is lost for nothing."""

Span: TypeAlias = tuple[int, int]
"""Character offsets in a text: first, and one past the last."""


def gap_note(count: int) -> str:
    """Return the note that stands for so many lines."""
    return f"[… {count:,} {'line' if count == 1 else 'lines'}]"


def lines_of(text: str, start: int = 0) -> Iterator[Span]:
    """Yield the lines of a text from an offset on."""
    while start <= len(text):
        end = line_end(text, start)
        yield start, end
        start = end + 1


def lines_backwards(text: str) -> Iterator[Span]:
    """Yield the lines of a text, the last first."""
    end = len(text)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        yield start, end
        end = start - 1


def line_end(text: str, start: int) -> int:
    """Return where the line ends in which an offset is."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def line_size(line: Span, longest: int) -> int:
    """Return the characters that a line takes if only so many of it are shown."""
    return min(line[1] - line[0], longest) + 1


def fill(lines: Iterator[Span], room: int, longest: int) -> list[Span]:
    """Return the first lines in this order that fit; always at least one."""
    found: list[Span] = []
    for line in lines:
        room -= line_size(line, longest)
        if room < 0 and found:
            break
        found.append(line)
    return found


def lines_with(block: str, word: str) -> Iterator[Span]:
    """Yield the lines of a text that contain a word early on."""
    at = block.find(word)
    while at >= 0:
        behind = at + len(word)
        start, end = block.rfind("\n", 0, behind) + 1, line_end(block, behind)
        if behind - start <= LONGEST_LINE:
            yield start, end
        at = block.find(word, end)


def by_line(text: str, protected: Sequence[Span]) -> dict[Span, list[Span]]:
    """Return what must be shown of which line."""
    found: dict[Span, list[Span]] = {}
    first = 0, line_end(text, 0)
    for low, high in sorted(protected):
        if low > first[1]:
            start = text.rfind("\n", first[1], low) + 1
            first = start, line_end(text, start)
        line = first
        while line[0] < min(high, len(text)):
            start, end = line
            if low < end:
                found.setdefault(line, []).append((max(low, start) - start, min(high, end) - start))
            line = end + 1, line_end(text, end + 1)
    return found


# Within a line ---------------------------------------------------------------------------------------


def cut_line(line: str, longest: int, protected: Sequence[Span] = ()) -> str:
    """Return the beginning and end of a line, and what must be shown of it."""
    if len(line) <= longest + GAP:
        return line
    half = longest // 2
    place = _PLACE.match(line)
    head = max(half, min(place.end(), longest)) if place else half
    pieces = list(_merged([(0, head), *protected, (before_negation(line, len(line) - half), len(line))]))
    shown = line[slice(*pieces[0])]
    for before, after in pairwise(pieces):
        shown += f"{omission_note(after[0] - before[1])}{line[slice(*after)]}"
    return shown


_PLACE = re.compile(r"\s*[\w./\\@()\[\]+ -]{3,200}:\d+(?::|-)")
"""Path and line number at the beginning of a hit: without them, what it says cannot be found again."""
_NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|without|neither|nor|nothing|none|\w+n['’]t|dont|avoid|instead of|rather than"
    r"|nicht|nie|niemals|kein\w*|ohne|ne|pas|jamais|sans|nunca|jamás|sin|não|sem|non|mai|niet|nooit|geen)"
    r"[ \t]+(?:\w+[ \t]+){0,2}\w*$",
    re.IGNORECASE,
)
"""A negation, with up to two words after it."""
_LOOKED_BACK = 60


def before_negation(text: str, start: int) -> int:
    """Return where an excerpt may begin: there, or earlier, so that it does not omit a negation."""
    found = _NEGATION.search(text, max(0, start - _LOOKED_BACK), start)
    return found.start() if found else start


def _merged(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield spans in order, touching ones merged."""
    begun: Span | None = None
    for start, end in sorted(spans):
        if begun is not None and start <= begun[1]:
            begun = (begun[0], max(begun[1], end))
            continue
        if begun is not None:
            yield begun
        begun = (start, end)
    if begun is not None:
        yield begun
