"""An immutable sequence that can be appended to in constant time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar, overload

T = TypeVar("T")


class Prefix(Sequence[T]):
    """An immutable base followed by the first items of a shared list, which may have grown since.

    Appending to the longest prefix extends the shared list; appending to a shorter one copies it. So a fold
    over a million events is linear, and every earlier view stays valid. The base may use less memory than a
    list.
    """

    __slots__ = ("_items", "_own", "base")

    def __init__(self, items: Iterable[T] = (), base: Sequence[T] = ()) -> None:
        self.base = base
        self._items = list(items)
        self._own = len(self._items)

    def add(self, item: T) -> Prefix[T]:
        """Return this sequence with one more item; this one does not change."""
        items = self._items
        if len(items) == self._own:
            items.append(item)
            # Another thread may have added an item since the check: then this item is not the next one.
            if items[self._own] is item:
                return self._of(items)
        return self._of([*self.own, item])

    def _of(self, items: list[T]) -> Prefix[T]:
        prefix: Prefix[T] = Prefix.__new__(Prefix)
        prefix.base, prefix._items, prefix._own = self.base, items, self._own + 1
        return prefix

    @property
    def own(self) -> list[T]:
        """Return the items after the base."""
        return self._items[: self._own]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index] - len(self.base)
        return self._items[place] if place >= 0 else self.base[place]

    def __len__(self) -> int:
        return len(self.base) + self._own

    def __iter__(self) -> Iterator[T]:
        return chain(self.base, islice(self._items, self._own))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prefix):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Prefix({self[:]!r})"
