"""The store protocol (``Store``, ``Snapshots``) and its values: context, event, stored event, head.

``store.append(Ctx(workspace="local", session="fix-login"), [event], expect=head)`` appends an event if the
session still ends at ``head``, and returns its new head.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from clew.errors import HeadMoved, InputError
from clew.message import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Ctx:
    """The workspace (tenant) and the session. No defaults: forgetting the tenant must be an error."""

    workspace: str
    session: str

    def __post_init__(self) -> None:
        require_name("workspace", self.workspace)
        require_name("session", self.session)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a session. Once appended it never changes."""

    id: str
    """Unique in its session, sortable by time."""
    kind: str
    """The kind of event: ``message``, ``compaction``, ``undo``, …"""
    version: int
    """The schema of the body, counted from 1 for each kind."""
    time: str
    """ISO 8601, UTC, milliseconds. For display: order is by sequence number, never by clock."""
    body: JsonObject

    def __post_init__(self) -> None:
        require_name("event id", self.id)
        require_name("event kind", self.kind)
        require_name("event time", self.time)
        if not 1 <= self.version < 2**31:
            raise InputError(f"event version {self.version} is out of range")


class Head(NamedTuple):
    """The end of a session's log: its number of events, and the hash that covers all of them."""

    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its position and hashes in its session."""

    seq: int
    """Its position, counted from 1 without gaps."""
    digest: str
    """The hash of its body."""
    hash: str
    """The hash of the whole event, including its predecessor's hash."""
    event: Event

    @property
    def head(self) -> Head:
        """Return the session's head as it was right after this event."""
        return Head(self.seq, self.hash)


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One session in the list of sessions."""

    session: str
    head: Head
    first_time: str
    """When its first event happened."""
    last_time: str


def require_name(what: str, value: str) -> None:
    """Raise ``InputError`` for a name that is empty or not printable."""
    if not value or not value.isprintable():
        raise InputError(f"{what} {value!r} is empty or not printable")


def require_head(ctx: Ctx, head: Head, expect: Head | None) -> None:
    """Raise ``HeadMoved`` if a writer expects another head than the session has; None expects nothing."""
    if expect is not None and expect != head:
        raise HeadMoved(f"session {ctx.session!r} is at event {head.seq}, not at {expect.seq}")


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
    ) -> Iterator[StoredEvent]:
        """Yield the events in order: those after ``after`` up to ``until``, of these kinds.

        Events appended after the iteration began are not included. Memory is bounded by the largest event.
        """

    def head(self, ctx: Ctx) -> Head:
        """Return the head; for a session without events, 0 and the root hash of its name."""

    def find(self, ctx: Ctx, event_id: str) -> StoredEvent:
        """Return the event with that id, or raise ``NotFound``."""

    def sessions(self, workspace: str) -> Iterator[SessionInfo]:
        """Yield the sessions of a workspace, oldest first."""


@runtime_checkable
class Snapshots(Protocol):
    """Caches what was derived from a session up to some event, so that a long log opens quickly.

    Optional for stores: whatever is missing is derived again.
    """

    def save_snapshot(self, ctx: Ctx, head: Head, body: JsonObject) -> None:
        """Store a snapshot of the session at that head, replacing an earlier one."""

    def load_snapshot(self, ctx: Ctx) -> tuple[Head, JsonObject] | None:
        """Return the last snapshot; None if there is none or it cannot be read."""


@runtime_checkable
class ReadsPositions(Protocol):
    """Reads scattered events together. Optional: for stores where each read is a round trip to a server."""

    def read_at(self, ctx: Ctx, positions: Sequence[int]) -> Iterator[StoredEvent]:
        """Yield the events at these positions, in order; positions without an event are left out."""
