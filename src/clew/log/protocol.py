"""The protocol of a store: the place that keeps session logs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from clew.log.events import Ctx, Event, Head, SessionInfo, Stored


class Store(Protocol):
    """Keeps the logs of sessions.

    How a store lays out bodies (inline, separate, compressed, shared) is its own choice; it returns what was
    appended, with the hashes of ``clew.log``. Test an implementation with the cases in
    ``clew.log.store.conformance``.
    """

    def append(self, ctx: Ctx, events: Sequence[Event], expect: Head | None) -> Head:
        """Append all the events, durably, or none; return the new head.

        With ``expect``, only if that is still the head, otherwise ``HeadMoved`` is raised. With None, at
        whatever the head is. An id that the session already has raises ``DuplicateEvent``.
        """

    def read(
        self, ctx: Ctx, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> Iterator[Stored]:
        """Yield the events in order: those after ``after`` up to ``until``, of these kinds.

        Events appended after the iteration began are not included. Memory is bounded by the largest event.
        """

    def head(self, ctx: Ctx) -> Head:
        """Return the head; for a session without events, 0 and the root hash of its name."""

    def find(self, ctx: Ctx, event_id: str) -> Stored:
        """Return the event with that id, or raise ``NotFound``."""

    def sessions(self, workspace: str) -> Iterator[SessionInfo]:
        """Yield the sessions of a workspace, oldest first."""
