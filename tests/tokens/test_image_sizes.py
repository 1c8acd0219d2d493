"""The size of an image is read from its first bytes."""

from __future__ import annotations

import base64
import struct

import pytest

from clew.tokens.images import image_size

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
WEBP_LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
WEBP_LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14) + b"\0" * 5
WEBP_EXTENDED = (
    b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
)
EXIF = b"\xff\xe1" + struct.pack(">H", 60_002) + b"\0" * 60_000
FRAME = b"\xff\xc0" + struct.pack(">HBHH", 17, 8, 480, 640)
JPEG = b"\xff\xd8" + EXIF + b"\xff" + FRAME


@pytest.mark.parametrize(
    "image",
    [PNG, GIF, WEBP_LOSSY, WEBP_LOSSLESS, WEBP_EXTENDED, JPEG],
    ids=["png", "gif", "webp-lossy", "webp-lossless", "webp-extended", "jpeg"],
)
def test_each_format_tells_its_size(image):
    assert image_size(base64.b64encode(image).decode()) == (640, 480)


@pytest.mark.parametrize(("columns", "newline"), [(76, "\n"), (64, "\r\n")])
@pytest.mark.parametrize("image", [PNG, JPEG], ids=["png", "jpeg"])
def test_wrapped_base64_tells_it_too(image, columns, newline):
    data = base64.b64encode(image + b"\0" * 80_000).decode()
    wrapped = newline.join(data[at : at + columns] for at in range(0, len(data), columns))
    assert image_size(wrapped) == (640, 480)


@pytest.mark.parametrize(
    "image",
    [
        b"",
        b"BM",
        PNG[:20],
        GIF[:8],
        WEBP_LOSSY[:20],
        JPEG[:-4],
        b"\xff\xd8\xff\xd9",
        WEBP_LOSSY[:12] + b"?" * 20,
    ],
)
def test_what_is_torn_or_unknown_has_no_size(image):
    assert image_size(base64.b64encode(image).decode()) is None


@pytest.mark.parametrize("words", ["%%%%", "a", "ö" * 40])
def test_what_is_not_base64_has_no_size(words):
    assert image_size(words) is None
