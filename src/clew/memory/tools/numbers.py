"""Which event holds the twelfth message of a session, and which message an event holds."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from clew.log import MESSAGE
from clew.ports import Ctx, Store


class Numbers:
    """Remembers where the messages of sessions stand; a session is read once, then only what is new."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._places: dict[Ctx, array[int]] = {}
        self._read: dict[Ctx, int] = {}

    def seq(self, ctx: Ctx, number: int) -> int | None:
        """Return the place of the event that holds a message, counted from 1; None where there is none."""
        places = self._caught_up(ctx)
        return places[number - 1] if 0 < number <= len(places) else None

    def number(self, ctx: Ctx, seq: int) -> int:
        """Return which message of its session an event holds."""
        return bisect_left(self._caught_up(ctx), seq) + 1

    def _caught_up(self, ctx: Ctx) -> array[int]:
        places = self._places.setdefault(ctx, array("q"))
        after, head = self._read.get(ctx, 0), self._store.head(ctx).seq
        if head > after:
            places.extend(stored.seq for stored in self._store.read(ctx, after, head, [MESSAGE.name]))
            self._read[ctx] = head
        return places
