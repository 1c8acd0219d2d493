"""The compaction history of a session: in force, undone, or folded into a later digest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from clew.log import COMPACTION
from clew.log.events import Stored
from clew.message import Json
from clew.session.record import Compaction, read_compaction


@dataclass(frozen=True, slots=True)
class Past:
    """A compaction of a session, in force or not."""

    name: str
    """By its number: ``d2`` is the second compaction, and its digest if it made one."""
    compaction: Compaction
    undone: str | None = None
    """The time of the undo; None if it was not undone."""
    taken_in: str | None = None
    """The later digest that its digest was folded into."""

    @property
    def in_force(self) -> bool:
        """Whether it still applies to the view."""
        return self.undone is None

    @property
    def folds(self) -> tuple[str, ...]:
        """Return the digests that were folded into its own."""
        return self.compaction.digest.folds if self.compaction.digest else ()


def past_of(events: Iterable[Stored]) -> list[Past]:
    """Return all compactions, oldest first, from the compaction and undo events of a log."""
    past: list[Past] = []
    for stored in events:
        if stored.event.kind == COMPACTION.name:
            past.append(Past(f"d{len(past) + 1}", read_compaction(COMPACTION.current(stored))))
        else:
            past = _undone(past, stored.event.body.get("compaction"), stored.event.time)
    folded = {name: one.name for one in past if one.in_force for name in one.folds}
    return [replace(one, taken_in=folded.get(one.name)) for one in past]


def _undone(past: list[Past], seq: Json, time: str) -> list[Past]:
    """Return the compactions after an undo event; one that names a compaction not in force has no effect."""
    since = next((at for at, one in enumerate(past) if one.in_force and one.compaction.seq == seq), len(past))
    return past[:since] + [replace(one, undone=one.undone or time) for one in past[since:]]
