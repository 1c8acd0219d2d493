"""A bounded cache of values computed from texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

Value = TypeVar("Value")

Key: TypeAlias = str | tuple[int, int]

SHORT = 64


def key_of(text: str) -> Key:
    """Return the cache key of a text: the text itself if short, else its hash and length.

    Python stores a string's hash in the string, so a second lookup of the same object is cheap, and the cache
    keeps no long text alive. Two long texts of equal length collide with probability 2**-64.
    """
    return text if len(text) <= SHORT else (hash(text), len(text))


class TextCache(Generic[Value]):
    """A cache of at most ``size`` values in two generations, an approximation of LRU.

    Lookups move values from the old generation to the young one; when the young one is full, the old one is
    dropped and replaced by it.
    """

    def __init__(self, size: int = 65_536) -> None:
        """Hold at most ``size`` values."""
        self._half = max(1, size // 2)
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def __len__(self) -> int:
        """Return the number of cached values."""
        return len(self._young) + len(self._old)

    def get(self, text: str, compute: Callable[[str], Value]) -> Value:
        """Return the value of a text, computing it only if it is not cached."""
        key = key_of(text)
        found = self._young.get(key)
        if found is not None:
            return found
        value = self._old.pop(key, None)
        if value is None:
            value = compute(text)
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}
        self._young[key] = value
        return value
