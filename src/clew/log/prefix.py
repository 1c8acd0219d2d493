"""A sequence that never changes, yet grows in constant time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class Prefix(Sequence[T]):
    """The first ``length`` items of a list that may have grown since.

    Adding to the longest prefix extends the shared list; adding to a shorter one copies it. So a fold over
    a million events is linear, and every earlier view still holds what it held.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def add(self, item: T) -> Prefix[T]:
        """Return this sequence with one more item at its end; this one stays as it is."""
        items = self._items
        if len(items) == self._length:
            items.append(item)
            # Another thread may have added between the check and here: then this item is not the next one.
            if items[self._length] is item:
                return self._of(items, self._length + 1)
        return self._of([*items[: self._length], item], self._length + 1)

    @classmethod
    def _of(cls, items: list[T], length: int) -> Prefix[T]:
        prefix: Prefix[T] = cls.__new__(cls)
        prefix._items = items
        prefix._length = length
        return prefix

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._items[i] for i in range(*index.indices(self._length))]
        return self._items[range(self._length)[index]]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return (self._items[i] for i in range(self._length))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prefix):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Prefix({self[:]!r})"
