"""A store in memory: like the SQLite store, but it does not outlive the process."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from clew.errors import DuplicateEvent, NotFound
from clew.log import EncodedEvent, chain, encode, parse_body, root
from clew.log.protocol import Ctx, Event, Head, SessionInfo, Store, StoredEvent, require_head, require_name


@dataclass(slots=True)
class _MemorySession:
    head: Head
    kept: list[tuple[StoredEvent, bytes]] = field(default_factory=list)
    """Each event with its body as bytes, so that callers cannot change what is stored."""
    places: dict[str, int] = field(default_factory=dict)


class MemoryStore(Store):
    """Keeps logs in memory. Share one between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[Ctx, _MemorySession] = {}

    def append(self, ctx: Ctx, events: Sequence[Event], expect: Head | None) -> Head:
        """Append all the events or none; return the new head."""
        encoded = [encode(event) for event in events]
        with self._lock:
            session = self._sessions.get(ctx) or _MemorySession(root(ctx.session))
            require_head(ctx, session.head, expect)
            _refuse_known_ids(session, encoded)
            for stored, event in zip(chain(session.head, encoded), encoded, strict=True):
                session.kept.append((stored, event.body))
                session.places[event.event.id] = stored.seq
                session.head = stored.head
            if session.kept:
                self._sessions[ctx] = session
            return session.head

    def read(
        self, ctx: Ctx, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> Iterator[StoredEvent]:
        """Yield the events in order: those after ``after`` up to ``until``, of these kinds."""
        with self._lock:
            session = self._sessions.get(ctx)
            end = None if until is None else max(until, 0)
            kept = session.kept[max(after, 0) : end] if session else []
        for stored, body in kept:
            if kinds is None or stored.event.kind in kinds:
                yield _fresh(stored, body)

    def head(self, ctx: Ctx) -> Head:
        """Return the head; for a session without events, 0 and the root hash of its name."""
        with self._lock:
            session = self._sessions.get(ctx)
            return session.head if session else root(ctx.session)

    def find(self, ctx: Ctx, event_id: str) -> StoredEvent:
        """Return the event with that id, or raise ``NotFound``."""
        require_name("event id", event_id)
        with self._lock:
            session = self._sessions.get(ctx)
            seq = session.places.get(event_id) if session else None
            if session is None or seq is None:
                raise NotFound(f"there is no event {event_id!r} in session {ctx.session!r}")
            return _fresh(*session.kept[seq - 1])

    def sessions(self, workspace: str) -> Iterator[SessionInfo]:
        """Yield the sessions of a workspace, oldest first."""
        require_name("workspace", workspace)
        with self._lock:
            mine = [(ctx, session) for ctx, session in self._sessions.items() if ctx.workspace == workspace]
        for ctx, session in mine:
            first, last = session.kept[0][0].event, session.kept[session.head.seq - 1][0].event
            yield SessionInfo(ctx.session, session.head, first.time, last.time)


def _refuse_known_ids(session: _MemorySession, encoded: Sequence[EncodedEvent]) -> None:
    seen: set[str] = set()
    for event_id in (event.event.id for event in encoded):
        if event_id in session.places or event_id in seen:
            raise DuplicateEvent(f"event {event_id!r}")
        seen.add(event_id)


def _fresh(stored: StoredEvent, body: bytes) -> StoredEvent:
    event = stored.event
    copy = Event(event.id, event.kind, event.version, event.time, parse_body(body))
    return StoredEvent(stored.seq, stored.digest, stored.hash, copy)
