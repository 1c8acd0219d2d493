"""Tokens of an image: its size, read from the first bytes of the file, and the providers' formulas.

``patches(28, 1568, 1568)(Size(1000, 1000))`` is 1,296 tokens: 36 patches of 28 pixels each way.
"""

from __future__ import annotations

import binascii
import math
import struct
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

UNKNOWN_IMAGE_TOKENS = 1_500
"""For an image of unknown size: about the most that an image costs with default settings."""

_HEADER_BYTES = 4_096
_JPEG_HEADER_BYTES = 1024 * 1024  # a photograph's metadata and thumbnail come before its size
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Frame headers, without Huffman tables (C4), extensions (C8) and arithmetic tables (CC)."""


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


ImageRule: TypeAlias = Callable[[Size], int]


def patches(side: int, longest_edge: int, most: int) -> ImageRule:
    """Return Anthropic's rule: one token per square patch, after scaling down to the model's limits."""

    def tokens(size: Size) -> int:
        fit_edge = longest_edge / max(size)
        fit_area = math.sqrt(most * side * side / (size.width * size.height))
        shrink = min(1.0, fit_edge, fit_area)
        across, down = (math.ceil(edge * shrink / side) for edge in size)
        return min(most, across * down)

    return tokens


def flat_rate(each: int) -> ImageRule:
    """Return Gemini 3's rule: every image costs the same."""
    return lambda _: each


def openai_tiles(size: Size) -> int:
    """Return OpenAI's tokens at high detail: scale to fit 2048, short side to 768, then tiles of 512."""
    scale = min(1.0, 2048 / max(size))
    scale *= min(1.0, 768 / (min(size) * scale))
    tiles = math.prod(math.ceil(edge * scale / 512) for edge in size)
    return 85 + 170 * tiles


def image_size(data: str) -> Size | None:
    """Return the size of a base64 PNG, GIF, WebP or JPEG from its first bytes; None if it cannot be read."""
    head = _decode(data, _HEADER_BYTES)
    if head.startswith(b"\xff\xd8"):
        size = _jpeg_size(_decode(data, _JPEG_HEADER_BYTES))
    else:
        size = _size_in_header(head)
    return size if size and min(size) > 0 else None


def _decode(data: str, size: int) -> bytes:
    """Decode the first ``size`` bytes of a base64 text."""
    length = -(-size // 3) * 4  # base64 has four characters for three bytes
    wanted = "".join(data[: length + length // 16].split())[:length]  # may be wrapped, from 64 columns on
    try:
        return binascii.a2b_base64(wanted[: len(wanted) // 4 * 4])
    except ValueError:  # binascii.Error, or characters that are not ASCII
        return b""


def _size_in_header(head: bytes) -> Size | None:
    """Return the size of a PNG, GIF or WebP from the fields of its header."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return Size(*struct.unpack(">II", head[16:24]))
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        return Size(*struct.unpack("<HH", head[6:10]))
    if not head.startswith(b"RIFF") or head[8:12] != b"WEBP" or len(head) < 30:
        return None
    match head[12:16]:
        case b"VP8X":
            return Size(*(1 + int.from_bytes(head[at : at + 3], "little") for at in (24, 27)))
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return Size(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
        case b"VP8 ":
            width, height = struct.unpack("<HH", head[26:30])
            return Size(width & 0x3FFF, height & 0x3FFF)
    return None


def _jpeg_size(head: bytes) -> Size | None:
    """Read segments up to the first frame header."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return Size(width, height)
        # 0xFF may be padding, and some markers have no length
        bare = marker in (0xFF, 0x01) or 0xD0 <= marker <= 0xD8
        at += (1 if marker == 0xFF else 2) if bare else 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None
