"""What clew asks of a place that keeps logs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from clew.ports.events import Ctx, Event, Head, SessionInfo, Stored


class Store(Protocol):
    """A place that keeps the logs of sessions.

    How bodies are laid out (inline, apart, compressed, shared) is the store's own business; what comes
    back is what was given, and its hashes are those of ``clew.log``. Whoever writes a store proves it
    with the cases of ``clew.store.conformance``.
    """

    def append(self, ctx: Ctx, events: Sequence[Event], expect: Head | None) -> Head:
        """Append all the events, durably, or none; return the new head.

        With ``expect``, only if that is the head still: otherwise ``HeadMoved``. With None, wherever the
        head is. An id that the session has already is a ``DuplicateEvent``.
        """

    def read(
        self, ctx: Ctx, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> Iterator[Stored]:
        """Yield the events in order: those past ``after`` up to ``until``, of these kinds.

        It ends where the session ended when the iteration began. Memory is bounded by the largest event.
        """

    def head(self, ctx: Ctx) -> Head:
        """Return the head; of a session that has no events, 0 and the root of its name."""

    def find(self, ctx: Ctx, event_id: str) -> Stored:
        """Return the event of that id, or raise ``NotFound``."""

    def sessions(self, workspace: str) -> Iterator[SessionInfo]:
        """Yield the sessions of a workspace, oldest first."""
