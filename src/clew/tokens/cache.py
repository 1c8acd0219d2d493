"""Remember what was counted, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

Value = TypeVar("Value")

Key: TypeAlias = str | tuple[int, int]

SHORT = 64


def key_of(text: str) -> Key:
    """Return what a text is remembered by: itself if short, else its hash and length.

    Python computes a string's hash once and keeps it in the string, so asking again for the same object
    costs nothing, and no long text is kept alive. Two long texts share a key once in 2**64.
    """
    return text if len(text) <= SHORT else (hash(text), len(text))


class TextCache(Generic[Value]):
    """Two generations: a value asked for again moves to the young one, and the old one is dropped whole.

    So what is in use stays, nothing is ever moved around on a hit, and at most ``size`` values are held.
    """

    def __init__(self, size: int = 65_536) -> None:
        """Hold at most ``size`` values."""
        self._half = max(1, size // 2)
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def __len__(self) -> int:
        """Return how many values are held."""
        return len(self._young) + len(self._old)

    def get(self, text: str, compute: Callable[[str], Value]) -> Value:
        """Return the value of a text, computed at most once while it is remembered."""
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
