"""Lines of text, one at a time, whatever the size of the file."""

from __future__ import annotations

from collections.abc import Iterator

from clew.transcripts.source import Source


def text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, without its end. What is not UTF-8 is replaced."""
    number, held = 1, b""
    for chunk in source.chunks():
        *whole, held = (held + chunk).split(b"\n")
        for line in whole:
            yield number, _text(line)
            number += 1
    if held:
        yield number, _text(held)


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode(errors="replace")
