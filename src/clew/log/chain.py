"""The hash chain: every event's hash covers its predecessor's, so one hash identifies a whole session.

An event's hash covers its sequence number, id, kind, version and time, and the hash of its body. The chain
starts from the session's name, so events cannot be moved to another session unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from clew.log.canon import canonical, digest, digest_of_fields
from clew.log.events import Event, Head, Stored

FORMAT = "clew.log/1"


class Header(NamedTuple):
    """The fields that an event's hash covers, besides its predecessor's hash."""

    seq: int
    id: str
    kind: str
    version: int
    time: str
    digest: str


def root(session: str) -> Head:
    """Return the head of a session before its first event."""
    return Head(0, digest_of_fields(FORMAT, "session", session))


def link(header: Header, previous: str) -> str:
    """Return the hash of an event that follows the event with the hash ``previous``."""
    return digest_of_fields(FORMAT, "event", *header, previous)


def header_of(seq: int, event: Event, body_digest: str) -> Header:
    """Return the fields that an event's hash covers."""
    return Header(seq, event.id, event.kind, event.version, event.time, body_digest)


@dataclass(frozen=True, slots=True)
class Encoded:
    """An event with its body encoded and hashed: the work that does not depend on its predecessor."""

    event: Event
    body: bytes
    digest: str


def encode(event: Event) -> Encoded:
    """Encode and hash an event's body."""
    body = canonical(event.body)
    return Encoded(event, body, digest(body))


def chain(head: Head, events: Iterable[Encoded]) -> list[Stored]:
    """Assign sequence numbers and hashes to events that follow ``head``."""
    stored = []
    for encoded in events:
        seq = head.seq + 1
        event_hash = link(header_of(seq, encoded.event, encoded.digest), head.hash)
        stored.append(Stored(seq, encoded.digest, event_hash, encoded.event))
        head = Head(seq, event_hash)
    return stored
