"""Attached files as tools write them: as a data URL, a path or a URL."""

from __future__ import annotations

from typing import Literal, TypeAlias

from clew.message import Media, Trust
from clew.providers.media import read_url

Kind: TypeAlias = Literal["image", "document", "audio", "video", "file"]
_KINDS: dict[str, Kind] = {"image": "image", "audio": "audio", "video": "video"}


def kind_of(media_type: str | None) -> Kind:
    """Return the media kind of a media type."""
    if media_type == "application/pdf":
        return "document"
    return _KINDS.get((media_type or "").partition("/")[0], "file")


def media_at(url: str, media_type: str | None, trust: Trust, title: str | None = None) -> Media:
    """Make a media part from a URL; a data URL is decoded into type and data."""
    place = read_url(url)
    found = media_type or place.media_type
    return Media(kind_of(found), found, place.data, place.url, title=title, trust=trust)


def image_at(url: str, trust: Trust) -> Media:
    """Make an image from a URL that does not give its type."""
    place = read_url(url)
    return Media("image", place.media_type, place.data, place.url, trust=trust)
