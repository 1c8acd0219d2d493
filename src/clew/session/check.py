"""Which things done by hand no longer apply, found while the events of a session come by: for an audit."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from clew.errors import ClewError
from clew.log import COMPACTION, RULES, LogProblem
from clew.ports import Ctx, Stored
from clew.session.replay import Replay
from clew.store import MemoryStore
from clew.tokens import UNKNOWN, counter_for


class _Compactions(MemoryStore):
    """Gives back the compactions that came by: all that a replay looks up again."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, Stored] = {}

    def read(
        self, _ctx: Ctx, after: int = 0, until: int | None = None, _kinds: Collection[str] | None = None
    ) -> Iterator[Stored]:
        """Yield those in a range."""
        return (one for seq, one in self.kept.items() if after < seq and (until is None or seq <= until))


class ActsCheck:
    """Does again what was done by hand in one session; its events must come one after the other."""

    def __init__(self, ctx: Ctx) -> None:
        self._store = _Compactions()
        self._replay: Replay | None = Replay(self._store, ctx, counter_for(UNKNOWN))

    def see(self, stored: Stored) -> None:
        """Take in the next event."""
        if self._replay is None:
            return
        if stored.event.kind == COMPACTION.name:
            self._store.kept[stored.seq] = stored
        try:
            if stored.event.kind == RULES.name and not self._replay.recorded.agrees(stored):
                self._replay = None  # the rules were searched again: only a second pass could tell
            else:
                self._replay.take(stored)
        except ClewError:
            self._replay = None  # the audit itself says what cannot be read

    @property
    def problems(self) -> tuple[LogProblem, ...]:
        """Return what no longer applies."""
        return tuple(self._replay.problems) if self._replay else ()
