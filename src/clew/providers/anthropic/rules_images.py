"""Rules about images and size (A11). Dimensions are read from the first bytes; nothing is decoded."""

from __future__ import annotations

import binascii
import struct
from collections.abc import Iterator
from typing import NamedTuple

from clew.message import JsonObject
from clew.providers.anthropic.rules_walk import Block, Inner, blocks, inner_blocks
from clew.providers.rules import Finding, Level, Rule
from clew.providers.shapes import as_object, as_text

MAX_SIDE = 8_000
MANY_IMAGES = 20
MAX_SIDE_OF_MANY = 2_000
MAX_IMAGE_CHARACTERS = 10 * 1024 * 1024
MAX_REQUEST_BYTES = 32 * 1024 * 1024

_HEADER = 4_096
_JPEG_HEADER = 1024 * 1024  # a photograph's metadata and thumbnail come before its size
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


def image_size(base64_text: str) -> Size | None:
    """Return the size of a PNG, JPEG, GIF or WebP image; None if it cannot be read."""
    head = _decode(base64_text, _HEADER)
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return Size(*struct.unpack(">II", head[16:24]))
    if head.startswith((b"GIF87a", b"GIF89a")) and len(head) >= 10:
        return Size(*struct.unpack("<HH", head[6:10]))
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp_size(head)
    if head.startswith(b"\xff\xd8"):
        return _jpeg_size(_decode(base64_text, _JPEG_HEADER))
    return None


def _decode(base64_text: str, size: int) -> bytes:
    wanted = base64_text[: -(-size // 3) * 4]
    try:
        return binascii.a2b_base64(wanted[: len(wanted) // 4 * 4])
    except ValueError:  # binascii.Error, or characters that are not ASCII
        return b""


def _webp_size(head: bytes) -> Size | None:
    form = head[12:16]
    if form == b"VP8X":
        return Size(*(1 + int.from_bytes(head[at : at + 3], "little") for at in (24, 27)))
    if form == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return Size(width & 0x3FFF, height & 0x3FFF)
    if form == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return Size(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    return None


def _jpeg_size(head: bytes) -> Size | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _JPEG_SIZES:
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return Size(width, height)
        # 0xFF may be padding, and some markers have no length
        bare = marker in (0xFF, 0x01) or 0xD0 <= marker <= 0xD8
        at += (1 if marker == 0xFF else 2) if bare else 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None


def _images(body: JsonObject) -> list[Block | Inner]:
    """Return every image, including nested ones."""
    outer = [block for block in blocks(body) if block.kind == "image"]
    return [*outer, *(inner for inner in inner_blocks(body) if inner.value.get("type") == "image")]


def large_images(body: JsonObject) -> Iterator[Finding]:
    """A11: an image with too many pixels or bytes."""
    images = _images(body)
    many = len(images) > MANY_IMAGES
    limit = MAX_SIDE_OF_MANY if many else MAX_SIDE
    for image in images:
        text = as_text(as_object(image.value.get("source")).get("data"))
        if len(text) > MAX_IMAGE_CHARACTERS:
            yield Finding(
                image.where, f"{len(text):,} characters of base64, {MAX_IMAGE_CHARACTERS:,} are allowed"
            )
        size = image_size(text) if text else None
        if size and max(size) > limit:
            reason = f" in a request of {len(images)} images" if many else ""
            yield Finding(
                image.where, f"{size.width} × {size.height} pixels, {limit} a side are allowed{reason}"
            )


def large_request(body: JsonObject) -> Iterator[Finding]:
    """A11b: a request with too many bytes, estimated from below."""
    size = sum(_text_size(block.value) for block in blocks(body))
    size += sum(_text_size(inner.value) for inner in inner_blocks(body))
    if size > MAX_REQUEST_BYTES:
        yield Finding("messages", f"at least {size:,} bytes, {MAX_REQUEST_BYTES:,} are allowed")


def _text_size(value: JsonObject) -> int:
    text = value.get("text") or value.get("content") or as_object(value.get("source")).get("data")
    return len(text) if isinstance(text, str) else 0


RULES = (
    Rule(
        "A11",
        "images are small enough",
        Level.REFUSE,
        "Error texts on 8,000 pixels a side, and on 2,000 'for many-image requests' of more than 20 "
        "(crush#3810, oh-my-pi#10633, claude-code#49537); 10 MB of base64 (older reports: 5 MB).",
        "scale images down, or drop old ones",
        large_images,
    ),
    Rule(
        "A11b",
        "a request is at most 32 MB",
        Level.REFUSE,
        "Anthropic's list of errors: 413 request_too_large.",
        "send less: drop images and old results",
        large_request,
    ),
)
