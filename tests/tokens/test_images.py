"""Images: the size from the file's head, and what each provider asks for it."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.tokens.images import Size, flat_rate, image_size, openai_tiles, patches

SIZE = Size(640, 480)


def png() -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", *SIZE) + bytes(40)


def gif() -> bytes:
    return b"GIF89a" + struct.pack("<HH", *SIZE) + bytes(20)


def jpeg() -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 5_000) + bytes(4_998)
    tables = b"\xff\xc4" + struct.pack(">H", 20) + bytes(18)
    frame = b"\xff\xc2" + struct.pack(">HBHH", 17, 8, SIZE.height, SIZE.width) + bytes(10)
    return b"\xff\xd8" + exif + tables + frame


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF" + bytes(4) + b"WEBP" + kind + bytes(4) + body + bytes(20)


def wide(number: int) -> bytes:
    return (number - 1).to_bytes(3, "little")


FILES = {
    "PNG": png(),
    "GIF": gif(),
    "JPEG": jpeg(),
    "WebP extended": webp(b"VP8X", bytes(4) + wide(640) + wide(480)),
    "WebP lossless": webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14)),
    "WebP lossy": webp(b"VP8 ", bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", *SIZE)),
}


@pytest.mark.parametrize("name", FILES)
def test_the_size_is_read_from_the_head(name: str):
    assert image_size(base64.b64encode(FILES[name]).decode()) == SIZE


@pytest.mark.parametrize("name", FILES)
def test_a_torn_head_has_no_size(name: str):
    assert image_size(base64.b64encode(FILES[name][:9]).decode()) is None


@given(
    st.binary(max_size=60),
    st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff\xc0", b"RIFF1234WEBPVP8X"]),
)
def test_no_bytes_make_it_fail(tail: bytes, magic: bytes):
    size = image_size(base64.b64encode(magic + tail).decode())
    assert size is None or min(size) > 0


@pytest.mark.parametrize("data", ["", "not base64 at all!", "é", "AAA"])
def test_what_is_not_base64_has_no_size(data: str):
    assert image_size(data) is None


@pytest.mark.parametrize(
    ("size", "tokens"),
    [((256, 256), 100), ((1024, 1024), 1369), ((1280, 720), 1196), ((8000, 1), 56), ((4032, 3024), 1568)],
)
def test_anthropic_counts_patches_of_what_it_scaled_down(size: tuple[int, int], tokens: int):
    assert patches(28, 1568, 1568)(Size(*size)) == pytest.approx(tokens, rel=0.03)


@pytest.mark.parametrize(
    ("size", "tokens"), [((512, 512), 255), ((1024, 1024), 765), ((2048, 4096), 1105), ((100, 50), 255)]
)
def test_openai_counts_tiles(size: tuple[int, int], tokens: int):
    assert openai_tiles(Size(*size)) == tokens


def test_gemini_counts_every_image_alike():
    assert flat_rate(1120)(Size(10, 10)) == flat_rate(1120)(Size(9_000, 9_000)) == 1120


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_no_image_costs_more_than_the_most(width: int, height: int):
    assert 1 <= patches(28, 2576, 4784)(Size(width, height)) <= 4784
