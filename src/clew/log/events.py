"""The values of a store: context, event, stored event, head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from clew.errors import InputError
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
class Stored:
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
