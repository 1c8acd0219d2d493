"""Some lines of a file, and what of it is not shown: nothing is left out without a word."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, NamedTuple

from clew.errors import InputError

MOST_SHOWN = 12_000
"""Characters of one answer."""
MOST_LINES = 400
MOST_BYTES = 100_000_000
"""Of a file that are looked through for the lines that are wanted."""
_AT_ONCE = 1 << 16
_LONGEST = 4 * MOST_SHOWN
"""Bytes of a line that are kept: more could never be shown."""


class _Line(NamedTuple):
    text: str
    left_out: int = 0
    """Bytes of it that are not in the text."""


def excerpt(file: BinaryIO, name: str, first: int, wanted: int) -> str:
    """Return some lines of a file, and behind them what was left out; what is not text is refused."""
    lines = _lines(file, name)
    before = sum(1 for _ in islice(lines, first - 1))
    shown: list[str] = []
    room, cut, behind = MOST_SHOWN, "", 0
    for line in islice(lines, wanted):
        if shown and len(line.text) > room:
            behind = 1  # whole lines only: the next excerpt begins with it
            break
        shown.append(line.text[:room])
        if missing := _missing(line, room):
            cut = f"; line {first} goes on for {missing}"
            break
        room -= len(line.text) + 1
    behind += sum(1 for _ in lines)
    more = " or more" if file.read(1) else ""
    count = before + len(shown) + behind
    if not shown and before:
        raise InputError(f"{name!r} has no line {first:,}", f"it has {count:,}{more}")
    if first > 1 or behind or cut or more:
        shown.append(f"[lines {first}-{first + len(shown) - 1} of {count}{more}{cut}]")
    return "\n".join(shown) or "(the file is empty)"


def _missing(line: _Line, room: int) -> str:
    """Say how much of a line is not shown; nothing where all of it is."""
    if line.left_out:
        return f"{line.left_out + len(line.text[room:].encode()):,} bytes"
    return f"{len(line.text) - room:,} characters" if len(line.text) > room else ""


def _lines(file: BinaryIO, name: str) -> Iterator[_Line]:
    """Yield the lines of a file, the beginning of each; at most ``MOST_BYTES`` are read."""
    kept, length = b"", 0
    read = 0
    while read < MOST_BYTES and (piece := file.readline(_AT_ONCE)):
        if b"\0" in piece:
            raise InputError(f"{name!r} is not text", "name a text file")
        read += len(piece)
        length += len(piece)
        kept = (kept + piece)[:_LONGEST]
        if piece.endswith(b"\n"):
            yield _line(kept, length)
            kept, length = b"", 0
    if length:
        yield _line(kept, length)


def _line(kept: bytes, length: int) -> _Line:
    return _Line(kept.decode("utf-8", "replace").rstrip("\r\n"), length - len(kept))
