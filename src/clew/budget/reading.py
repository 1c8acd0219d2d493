"""Read the values of this package from JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clew.errors import InputError
from clew.message import Json


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn errors about the JSON's shape into an ``InputError``."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as cause:
        raise InputError(f"this is not {what} ({cause!r})") from cause


def count(value: Json) -> int:
    """Return a non-negative integer; anything else is a ``ValueError``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def text(value: Json) -> str:
    """Return a string; anything else is a ``TypeError``."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
