"""A state that is folded from the events of one kind in a log, kept up to date, and appended to.

The notes of a workspace are such a state: ``Journal(store, ctx, NOTE, fold_notes, NO_NOTES)`` reads the
events of kind ``note``, and ``append`` adds one that was decided on the newest notes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Generic, TypeVar

from clew.errors import HeadMoved, StoreBusy
from clew.log.chain import new_event
from clew.log.fold import EventKind
from clew.log.protocol import Ctx, Store, StoredEvent
from clew.message import JsonObject

TRIES = 16
"""Attempts to append while other processes append to the same session."""

State = TypeVar("State")
Fold = Callable[[Iterable[StoredEvent], State], State]
"""Returns a state with further events applied."""
Clock = Callable[[], int]
"""Returns the current time in milliseconds."""


def unix_ms() -> int:
    """Return the current time in milliseconds."""
    return time.time_ns() // 1_000_000


class Journal(Generic[State]):
    """Keeps a state up to date with its log. Several processes may write to the same log."""

    def __init__(
        self, store: Store, ctx: Ctx, kind: EventKind, fold: Fold[State], empty: State, clock: Clock = unix_ms
    ) -> None:
        self._store = store
        self._ctx = ctx
        self._kind = kind
        self._fold = fold
        self._state = empty
        self._read = 0
        self._clock = clock

    @property
    def state(self) -> State:
        """Return the current state, including what other processes appended."""
        return self._catch_up(self._store.head(self._ctx).seq)

    def _catch_up(self, seq: int) -> State:
        if seq > self._read:
            events = self._store.read(self._ctx, self._read, seq, [self._kind.name])
            self._state = self._fold(map(self._kind.current, events), self._state)
            self._read = seq
        return self._state

    def append(self, decide: Callable[[State], JsonObject]) -> tuple[State, int]:
        """Append the event that ``decide`` makes of the state; return the new state and the event's number.

        If another process appends first, ``decide`` is called again with the updated state. If it raises, the
        log is not changed.
        """
        for _ in range(TRIES):
            head = self._store.head(self._ctx)
            body = decide(self._catch_up(head.seq))
            event = new_event(self._kind.name, body, self._kind.version, self._clock())
            with suppress(HeadMoved):
                seq = self._store.append(self._ctx, [event], head).seq
                return self._catch_up(seq), seq
        raise StoreBusy(f"other processes keep appending to {self._ctx.session!r}")
