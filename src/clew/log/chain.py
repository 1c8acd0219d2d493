"""Canonical bytes, ids and the hash chain of events; ``chain_check`` recomputes the chain of a session.

Bytes are compact JSON in UTF-8, keys in the given order. Half a surrogate pair, which broken streams leave in
real sessions, is encoded as the three bytes that UTF-8 would give it: decoding returns the same text, and
everything else is plain UTF-8. ``NaN`` and ``Infinity``, which are not JSON but which Python hosts write into
their sessions, are kept in Python's spelling: refusing them would lose the message.

Every event's hash covers its predecessor's, so one hash identifies a whole session. It also covers the
event's sequence number, id, kind, version and time, and the hash of its body. The chain starts from the
session's name, so events cannot be moved to another session unnoticed. For event 3 of a session::

    digest = sha256(canonical(body))
    hash = sha256(["clew.log/1", "event", 3, id, kind, version, time, digest, hash of event 2])
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, cast

from clew.errors import InputError, NotJson
from clew.log.protocol import Event, Head, StoredEvent
from clew.message import Json, JsonObject


def canonical(body: JsonObject) -> bytes:
    """Return the canonical encoding of a body: equal bodies with equal key order give equal bytes."""
    try:
        return _write(body).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError) as cause:
        raise InputError(f"this body cannot be written as JSON ({cause})") from cause


def parse_body(text: bytes) -> JsonObject:
    """Return the body with these canonical bytes."""
    try:
        body = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as cause:
        raise NotJson(f"a body cannot be read ({cause})") from cause
    if not isinstance(body, dict):
        raise NotJson("a body is not a JSON object")
    return cast(JsonObject, body)


def digest(content: bytes) -> str:
    """Return the hash of bytes, prefixed with its algorithm: ``sha256:9f86d0…``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def digest_of_fields(*fields: Json) -> str:
    """Return the hash of a list of values, encoded as a JSON array in ASCII, which is unambiguous."""
    return digest(_write_ascii(fields).encode("ascii"))


ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
"""The first bytes of compressed content. No JSON begins so: compressed and plain content need no flag."""

_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_write_ascii = json.JSONEncoder(separators=(",", ":")).encode


_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: without i, l, o, u
_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]
"""All pairs of digits: two digits are written at once."""
_EPOCH = datetime(1970, 1, 1)  # in UTC; iso_time appends the Z


def new_id(unix_ms: int) -> str:
    """Return a new id of 26 characters that starts with the time, so ids sort by creation time."""
    number = unix_ms << 80 | int.from_bytes(os.urandom(10))
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def iso_time(unix_ms: int) -> str:
    """Format a time as ``2026-11-15T04:16:00.123Z``."""
    return (_EPOCH + timedelta(milliseconds=unix_ms)).isoformat(timespec="milliseconds") + "Z"


def new_event(kind: str, body: JsonObject, version: int = 1, unix_ms: int | None = None) -> Event:
    """Create an event that happens now, or at the given time."""
    moment = time.time_ns() // 1_000_000 if unix_ms is None else unix_ms
    return Event(new_id(moment), kind, version, iso_time(moment), body)


FORMAT = "clew.log/1"
"""Part of every hash: another format of the log has other hashes."""


class HashedFields(NamedTuple):
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


def link(header: HashedFields, previous: str) -> str:
    """Return the hash of an event that follows the event with the hash ``previous``."""
    return digest_of_fields(FORMAT, "event", *header, previous)


def hashed_fields(seq: int, event: Event, body_digest: str) -> HashedFields:
    """Return the fields that an event's hash covers."""
    return HashedFields(seq, event.id, event.kind, event.version, event.time, body_digest)


@dataclass(frozen=True, slots=True)
class EncodedEvent:
    """An event with its body encoded and hashed: the work that does not depend on its predecessor."""

    event: Event
    body: bytes
    digest: str


def encode(event: Event) -> EncodedEvent:
    """Encode and hash an event's body."""
    body = canonical(event.body)
    return EncodedEvent(event, body, digest(body))


def chain(head: Head, events: Iterable[EncodedEvent]) -> list[StoredEvent]:
    """Assign sequence numbers and hashes to events that follow ``head``."""
    stored = []
    for encoded in events:
        seq = head.seq + 1
        event_hash = link(hashed_fields(seq, encoded.event, encoded.digest), head.hash)
        stored.append(StoredEvent(seq, encoded.digest, event_hash, encoded.event))
        head = Head(seq, event_hash)
    return stored
