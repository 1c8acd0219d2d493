"""Reading this room's values back from JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clew.errors import InputError
from clew.message import Json


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Say that something is not what it should be, where its JSON has another shape."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as cause:
        raise InputError(f"this is not {what} ({cause!r})") from cause


def count(value: Json) -> int:
    """Return a number of things; anything else is a ``ValueError``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def text(value: Json) -> str:
    """Return a text; anything else is a ``TypeError``."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
