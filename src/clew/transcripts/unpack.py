"""Compressed streams: gzip and zstd are recognised by their first bytes and unpacked as they flow.

Nothing is ever expanded whole: whatever the input claims, one step of the output is at most a few dozen
megabytes, so a decompression bomb costs time that the reader may stop paying, never memory.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
# A frame that holds no data; parallel compressors open their files with one.
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
STEP_BYTES = 1 << 20
# One zstd block of 4 bytes may stand for 128 KiB, so 2 KiB of input expand to 64 MiB at the very worst.
ZSTD_FEED_BYTES = 2 << 10


class Damaged(Exception):
    """The compressed data breaks off or is not what it claims. Never leaves the room: a source reports it."""


def unpacked(raw: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data behind ``raw``: gunzipped, unzstd'ed, or as it is. Raise ``Damaged`` where it breaks."""
    chunks = iter(raw)
    head = b""
    while len(head) < len(ZSTD):
        piece = next(chunks, b"")
        if not piece:
            break
        head += piece
    whole = chain([head], chunks) if head else chunks
    if head.startswith(GZIP):
        return _gunzip(whole)
    if head.startswith(ZSTD) or _SKIPPABLE.match(head):
        return _unzstd(whole)
    return iter(whole)


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Unpack one gzip member after another; zero padding between and after them is allowed."""
    member = zlib.decompressobj(wbits=31)
    fed = False
    for chunk in chunks:
        rest = chunk
        while rest:
            if not fed and not (rest := rest.lstrip(b"\0")):
                break
            fed = True
            try:
                out = member.decompress(rest, STEP_BYTES)
            except zlib.error as cause:
                raise Damaged(f"the gzip data is damaged ({cause})") from cause
            if out:
                yield out
            rest = member.unused_data if member.eof else member.unconsumed_tail
            if member.eof:
                member, fed = zlib.decompressobj(wbits=31), False
    while fed and (out := member.decompress(member.unconsumed_tail, STEP_BYTES)):
        yield out
    if fed and not member.eof:
        raise Damaged("the file ends in the middle of its gzip data")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Unpack one zstd frame after another."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor()
    frame = unpacker.decompressobj()
    fed = False
    for chunk in chunks:
        for start in range(0, len(chunk), ZSTD_FEED_BYTES):
            rest = chunk[start : start + ZSTD_FEED_BYTES]
            while rest:
                fed = True
                try:
                    out = frame.decompress(rest)
                except zstandard.ZstdError as cause:
                    raise Damaged(f"the zstd data is damaged ({cause})") from cause
                if out:
                    yield out
                rest = frame.unused_data if frame.eof else b""
                if frame.eof:
                    frame, fed = unpacker.decompressobj(), False
    if fed:
        raise Damaged("the file ends in the middle of its zstd data")
