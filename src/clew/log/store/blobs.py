"""Store long texts apart from their events: each once, compressed.

A body is canonical JSON, in which control characters occur only escaped. So a raw STX…ETX can mark the place
of a long string unambiguously, and putting the string back restores the body byte for byte. Strings are what
repeats in real sessions (a file read again, an image sent again), in bodies that differ by an id.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable

from clew.errors import StoreDamaged
from clew.log import digest

APART = 2048
"""Texts longer than this, in bytes, are stored apart. Measured on 64 MB of real messages: the file takes 81
MB with nothing apart, 56 MB from 4 KiB, 48 MB from 2 KiB, 45 MB from 1 KiB; each step down costs a quarter of
the reading speed."""

# Possessive quantifiers: backtracking would use some 60 bytes of memory for every escape in a string.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MARK = re.compile(rb"\x02(sha256:[0-9a-f]{64})\x03")
_ZSTD = b"\x28\xb5\x2f\xfd"  # no JSON begins like this, so packed and plain content need no flag


def detach(body: bytes) -> tuple[bytes, dict[str, bytes]]:
    """Return a body with its long strings replaced by marks, and those strings by digest."""
    if len(body) <= APART:
        return body, {}
    blobs: dict[str, bytes] = {}

    def mark(content: bytes) -> bytes:
        name = digest(content)
        blobs[name] = content
        return b"\x02" + name.encode() + b"\x03"

    short = _STRING.sub(lambda match: mark(match[0]) if len(match[0]) > APART else match[0], body)
    # Still long because of many short strings: then the whole body is stored apart.
    return (short if len(short) <= APART else mark(short)), blobs


def attach(body: bytes, fetch: Callable[[str], bytes]) -> bytes:
    """Return the original body; ``fetch`` returns a blob by its digest."""
    if whole := _MARK.fullmatch(body):
        body = fetch(whole[1].decode())
    return _MARK.sub(lambda match: fetch(match[1].decode()), body)


def pack(content: bytes) -> tuple[int, bytes]:
    """Return what is stored for a blob: a checksum of the stored bytes, and those bytes."""
    import zstandard

    packed = zstandard.ZstdCompressor(level=3).compress(content)
    stored = packed if len(packed) < len(content) else content
    return zlib.crc32(stored), stored


def unpack(name: str, checksum: int, stored: bytes) -> bytes:
    """Return a blob's content, or raise ``StoreDamaged``."""
    if zlib.crc32(stored) != checksum:  # first, so that a damaged frame never reaches the decompressor
        raise StoreDamaged(f"blob {name}: its checksum is {zlib.crc32(stored)}, not {checksum}")
    content = stored
    if stored.startswith(_ZSTD):
        import zstandard

        content = zstandard.ZstdDecompressor().decompress(stored)
    if digest(content) != name:
        raise StoreDamaged(f"blob {name}: its content is {digest(content)}")
    return content
