"""Read and write media: kinds of media types, OpenAI's ``data:`` URLs, audio and file objects.

``read_url("data:image/png;base64,iVBO…")`` is ``MediaSource("image/png", "iVBO…")``.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from clew.message import JsonObject, Media, Native, Trust
from clew.providers.wire import only_texts, text_at

# Only the plain form is parsed; a data URL with parameters is kept as a URL.
_DATA_URL = re.compile(r"data:([a-z]+/[a-z0-9.+-]+);base64,")

_AUDIO_TYPES = {"mp3": "audio/mpeg", "wav": "audio/wav"}


def kind_of_type(media_type: str | None) -> Literal["image", "audio", "video", "document"]:
    """Return the kind of media for a media type such as ``image/png``."""
    match (media_type or "").partition("/")[0]:
        case "image" | "audio" | "video" as kind:
            return kind
        case _:
            return "document"


class MediaSource(NamedTuple):
    """The contents of a medium: inline data with its type, or a URL."""

    media_type: str | None = None
    data: str | None = None
    url: str | None = None


def read_url(url: str | None) -> MediaSource:
    """Read a URL; a ``data:`` URL becomes its type and base64."""
    match = _DATA_URL.match(url) if url else None
    if match is None or url is None:
        return MediaSource(url=url)
    return MediaSource(match[1], url[match.end() :])


def write_url(media: Media, assumed_type: str = "application/octet-stream") -> str | None:
    """Return the URL of a medium: a ``data:`` URL if it has data."""
    if media.data is None:
        return media.url
    return f"data:{media.media_type or assumed_type};base64,{media.data}"


def read_audio(sound: JsonObject, trust: Trust, native: Native) -> Media | None:
    """Read ``{data, format}``."""
    if not only_texts(sound, "data", "format"):
        return None
    form = text_at(sound, "format")
    media_type = _AUDIO_TYPES.get(form, f"audio/{form}") if form else None
    return Media("audio", media_type, text_at(sound, "data"), trust=trust, native=native)


def write_audio(media: Media) -> JsonObject:
    """Write ``{data, format}``."""
    forms = {media_type: form for form, media_type in _AUDIO_TYPES.items()}
    form = forms.get(media.media_type or "", (media.media_type or "audio/wav").removeprefix("audio/"))
    return {"data": media.data, "format": form}


def read_file(file: JsonObject, trust: Trust, native: Native) -> Media | None:
    """Read ``{file_id, filename, file_data, file_url}``."""
    if not only_texts(file, "file_id", "filename", "file_data", "file_url"):
        return None
    source = read_url(text_at(file, "file_data"))
    return Media(
        "document",
        source.media_type,
        source.data,
        url=text_at(file, "file_url") or source.url,
        file_id=text_at(file, "file_id"),
        title=text_at(file, "filename"),
        trust=trust,
        native=native,
    )


def write_file(media: Media) -> JsonObject:
    """Write ``{file_id}``, ``{filename, file_data}`` or ``{filename, file_url}``."""
    if media.data is None:
        return {"file_id": media.file_id, "file_url": media.url, "filename": media.title}
    # The API refuses bytes without a file name.
    name = media.title or f"file.{(media.media_type or 'bin').rpartition('/')[2]}"
    return {"filename": name, "file_data": write_url(media)}


_FIRST_BYTES = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi": "application/pdf",
}
"""The first base64 characters of common media types."""


def known_type(data: str) -> str | None:
    """Return the media type of base64 data from its first characters, or None if it is not a common one."""
    return next((kind for start, kind in _FIRST_BYTES.items() if data.startswith(start)), None)
