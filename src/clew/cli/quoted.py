"""Print a text with quoted spans highlighted; long stretches without one are folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.text import Text as Styled

from clew.cli.text import printable

AROUND_LINES = 2
FIRST_LINES = 12
AROUND_CHARACTERS = 160
MARK = "▌"
"""Starts every line with highlighted words, so that colour is not the only sign."""


class Span(NamedTuple):
    """A range of characters."""

    start: int
    end: int


def marked_lines(
    text: str, marks: Sequence[Span], style: str = "", *, full: bool = False
) -> Iterator[Styled]:
    """Yield the lines of a text with spans highlighted; without ``full``, only those near a span."""
    lines = list(_lines(text))
    shown = range(len(lines)) if full else _shown(lines, marks)
    last = -1
    for number in shown:
        if number > last + 1:
            yield _fold(number - last - 1)
        yield _line(text, lines[number], marks, style, full)
        last = number
    if last + 1 < len(lines):
        yield _fold(len(lines) - last - 1)


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.split("\n"):
        yield Span(start, start + len(line.removesuffix("\r")))
        start += len(line) + 1


def _shown(lines: Sequence[Span], marks: Sequence[Span]) -> Sequence[int]:
    """Return the lines around the spans; the first lines if there are no spans or all is marked."""
    touched = [number for number, line in enumerate(lines) if any(_inside(line, marks))]
    if not touched or len(touched) == len(lines):
        return range(min(FIRST_LINES, len(lines)))
    near = {n for number in touched for n in range(number - AROUND_LINES, number + AROUND_LINES + 1)}
    return sorted(n for n in near if 0 <= n < len(lines))


def _inside(line: Span, marks: Iterable[Span]) -> Iterator[Span]:
    """Yield the parts of the spans inside a line."""
    for mark in marks:
        if mark.start <= line.end and mark.end > line.start:
            yield Span(max(mark.start, line.start), min(mark.end, line.end))


def _line(text: str, line: Span, marks: Sequence[Span], style: str, full: bool) -> Styled:
    inside = sorted(_inside(line, marks))
    whole = inside == [line]
    seen = line if full else _seen(line, inside)
    row = Styled.assemble((MARK if inside else " ", "bold yellow"), " ")
    row.append("…" if seen.start > line.start else "", style="dim")
    at = seen.start
    for mark in inside:
        start, end = max(mark.start, at), min(mark.end, seen.end)
        row.append(_words(text, at, start), style=style)
        row.append(_words(text, start, end), style="bold" if whole else "bold reverse")
        at = max(at, end)
    row.append(_words(text, at, seen.end), style=style)
    return row.append(f"… {line.end - line.start:,} characters" if seen.end < line.end else "", style="dim")


def _seen(line: Span, inside: Sequence[Span]) -> Span:
    """Return the part of a long line to print, from shortly before its first span."""
    start = max(line.start, (inside[0].start if inside else line.start) - AROUND_CHARACTERS)
    return Span(start, min(line.end, start + 4 * AROUND_CHARACTERS))


def _words(text: str, start: int, end: int) -> str:
    return printable(text[start:end].expandtabs(4)).replace("\n", " ")


def _fold(lines: int) -> Styled:
    return Styled(f"  … {lines:,} more lines (--full shows them)", style="dim")
