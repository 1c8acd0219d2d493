"""Yield lines of text one at a time, for files of any size."""

from __future__ import annotations

from collections.abc import Iterator

from clew.transcripts.source import Source

MAX_LINE_BYTES = 64 << 20
"""Only the start of a longer line is read: a person did not write it, and it must not fill the memory."""


def text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, without its line break; bytes that are not UTF-8 are replaced."""
    number, held = 1, _Held()
    for chunk in source.chunks():
        first, *rest = chunk.split(b"\n")
        held.add(first)
        for line in rest:
            yield number, held.text()
            number += 1
            held = _Held()
            held.add(line)
    if held.size:
        yield number, held.text()


class _Held:
    """The pieces of a line that spans chunks."""

    __slots__ = ("pieces", "size")

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        room = MAX_LINE_BYTES - self.size
        if room > 0:
            self.pieces.append(piece[:room])
        self.size += len(piece)

    def text(self) -> str:
        line = b"".join(self.pieces).removesuffix(b"\r").decode(errors="replace")
        left_out = self.size - MAX_LINE_BYTES
        return f"{line}[… {left_out:,} more bytes of this line are not read]" if left_out > 0 else line
