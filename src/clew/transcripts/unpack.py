"""Decompress streams: gzip and zstd are recognised by their first bytes and unpacked as they are read.

Nothing is expanded whole: one step of output is at most a few dozen megabytes, whatever the input claims.
Input that expands far more than text can be compressed is a bomb, and reading stops.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
# A frame without data; parallel compressors start their files with one.
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
STEP_BYTES = 1 << 20
# One zstd block of 4 bytes can expand to 128 KiB, so 2 KiB of input expand to 64 MiB at worst.
ZSTD_FEED_BYTES = 2 << 10
# The rest of the input is copied each time a member ends, so little is passed at a time.
GZIP_FEED_BYTES = 16 << 10
MAX_EMPTY_FRAMES = 10_000
"""More empty members or frames in a row than any real file has."""
FREE_BYTES = 256 << 20
MAX_RATIO = 200
"""After the first ``FREE_BYTES``, output may be this many times the input. Sessions compress by a factor of
10 to 50."""


class Damaged(Exception):
    """The compressed data ends early or is invalid. Internal: a source reports it."""


def unpacked(raw: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of ``raw``, decompressed if needed. Raise ``Damaged`` at the first error."""
    chunks = iter(raw)
    head = b""
    while len(head) < len(ZSTD):
        piece = next(chunks, b"")
        if not piece:
            break
        head += piece
    whole = _Fed(chain([head], chunks) if head else chunks)
    if head.startswith(GZIP):
        return _within_reason(_gunzip(whole), whole)
    if head.startswith(ZSTD) or _SKIPPABLE.match(head):
        return _within_reason(_unzstd(whole), whole)
    return whole


class _Fed(Iterator[bytes]):
    """Passes chunks on and counts their bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.size = 0

    def __next__(self) -> bytes:
        chunk = next(self._chunks)
        self.size += len(chunk)
        return chunk


def _within_reason(pieces: Iterator[bytes], fed: _Fed) -> Iterator[bytes]:
    """Pass decompressed data on until it is out of proportion to the input."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > FREE_BYTES + MAX_RATIO * fed.size:
            raise Damaged(f"{fed.size:,} bytes unpack to more than {size >> 20:,} MiB: the rest is not read")
        yield piece


class _Frames:
    """Counts empty frames in a row."""

    def __init__(self) -> None:
        self._empty = 0

    def ended(self, *, empty: bool) -> None:
        self._empty = self._empty + 1 if empty else 0
        if self._empty > MAX_EMPTY_FRAMES:
            raise Damaged(f"more than {MAX_EMPTY_FRAMES:,} empty frames in a row")


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress gzip members in turn; zero padding between and after them is allowed."""
    member = zlib.decompressobj(wbits=31)
    fed, empty, frames = False, True, _Frames()
    for piece in _fed_slowly(chunks, GZIP_FEED_BYTES):
        rest = piece
        while rest:
            if not fed and not (rest := rest.lstrip(b"\0")):
                break
            fed = True
            try:
                out = member.decompress(rest, STEP_BYTES)
            except zlib.error as cause:
                raise Damaged(f"the gzip data is damaged ({cause})") from cause
            if out:
                empty = False
                yield out
            rest = member.unused_data if member.eof else member.unconsumed_tail
            if member.eof:
                frames.ended(empty=empty)
                member, fed, empty = zlib.decompressobj(wbits=31), False, True
    while fed and (out := member.decompress(member.unconsumed_tail, STEP_BYTES)):
        yield out
    if fed and not member.eof:
        raise Damaged("the file ends in the middle of its gzip data")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress zstd frames in turn."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor()
    frame = unpacker.decompressobj()
    fed, empty, frames = False, True, _Frames()
    for piece in _fed_slowly(chunks, ZSTD_FEED_BYTES):
        rest = piece
        while rest:
            fed = True
            try:
                out = frame.decompress(rest)
            except zstandard.ZstdError as cause:
                raise Damaged(f"the zstd data is damaged ({cause})") from cause
            if out:
                empty = False
                yield out
            rest = frame.unused_data if frame.eof else b""
            if frame.eof:
                frames.ended(empty=empty)
                frame, fed, empty = unpacker.decompressobj(), False, True
    if fed:
        raise Damaged("the file ends in the middle of its zstd data")


def _fed_slowly(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), size):
            yield chunk[start : start + size]
