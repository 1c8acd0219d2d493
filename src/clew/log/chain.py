"""Canonical bytes, ids and the hash chain of events; ``check_session`` recomputes the chain of a session.

Bytes are compact JSON in UTF-8, keys in the given order. Half a surrogate pair, which broken streams leave in
real sessions, is encoded as the three bytes that UTF-8 would give it: decoding returns the same text, and
everything else is plain UTF-8. ``NaN`` and ``Infinity``, which are not JSON but which Python hosts write into
their sessions, are kept in Python's spelling: refusing them would lose the message.

Every event's hash covers its predecessor's, so one hash identifies a whole session. It also covers the
event's sequence number, id, kind, version and time, and the hash of its body. The chain starts from the
session's name, so events cannot be moved to another session unnoticed. For event 3 of a session::

    digest = sha256(canonical(body))
    hash = sha256(["clew.log/1", "event", 3, id, kind, version, time, digest, hash of event 2])

``check_session(store, ctx)`` yields a ``Flaw`` for each difference: "event 7: body: expected …, found …".
Each event is checked against the stored hash of its predecessor, so one changed field is one flaw and not one
for every later event. If the hash of event 7 does not follow from its fields, either a field or the hash was
changed, and only event 8 shows which: it was built on the hash that event 7 had when it was written. A flaw
may therefore be reported one event late.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, cast

from clew.errors import InputError, NotJson, StoreError
from clew.log.protocol import Ctx, Event, Head, Store, StoredEvent
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


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something in the store that differs from what was written."""

    field: str
    expected: str
    found: str
    workspace: str | None = None
    session: str | None = None
    seq: int | None = None

    @property
    def where(self) -> str:
        """Return the place in words."""
        place = [
            f"workspace {self.workspace!r}" if self.workspace is not None else "",
            f"session {self.session!r}" if self.session is not None else "",
            f"event {self.seq}" if self.seq is not None else "",
        ]
        return ", ".join(filter(None, place)) or "the file"

    def __str__(self) -> str:
        """Return one line: where, what, and what was expected."""
        return f"{self.where}: {self.field}: expected {self.expected}, found {self.found}"


class EventRow(NamedTuple):
    """An event of a store that may be damaged: any field may hold anything."""

    seq: object
    id: object
    kind: object
    version: object
    time: object
    digest: object
    hash: object
    body: str
    """The actual digest of its body, or why it cannot be read."""


HASHED = "id, kind, version, time or digest"
"""The fields that may have been changed if a hash does not match."""


class _Guess(NamedTuple):
    """What an event may have been when it was hashed, and the flaw that this implies."""

    header: HashedFields
    previous: str
    """The hash of the event before it."""
    flaw: Flaw | None = None


class ChainCheck:
    """Checks the events of one session in order."""

    def __init__(self, ctx: Ctx) -> None:
        self._ctx = ctx
        self._seq, self._stored = root(ctx.session)
        """The number of the last event, and its hash as stored."""
        self._derived = self._stored
        """The hash that the last event should have by its fields; if not the same, its flaw is pending."""

    def see(self, row: EventRow) -> Iterator[Flaw]:
        """Check the next event."""
        match row:
            case EventRow(
                int(seq), str(id_), str(kind), int(version), str(time), str(body_digest), str(value), body
            ):
                yield from self._follow(HashedFields(seq, id_, kind, version, time, body_digest), value, body)
            case _:
                yield from self._report_pending(None)
                yield self._flaw(self._seq + 1, "row", "numbers and text where they belong", repr(row[:-1]))
                known = row.hash if isinstance(row.hash, str) else ""
                self._move(self._seq + 1, known, known)

    def end(self, head: Head) -> Iterator[Flaw]:
        """Check that the session ends at its head."""
        yield from self._report_pending(head.hash)
        if head.seq != self._seq:
            yield self._flaw(None, "head seq", str(self._seq), str(head.seq))
        elif head.hash not in (self._stored, self._derived):
            yield self._flaw(None, "head hash", self._stored, head.hash)

    def _follow(self, header: HashedFields, value: str, body: str) -> Iterator[Flaw]:
        """Check the hash of an event against its predecessor; report a flaw and continue after it.

        If no guess gives its hash, one of its fields or its hash was changed: reported with the next event.
        """
        for guess in self._guesses(header, body):
            if link(guess.header, guess.previous) == value:
                yield from self._report_pending(guess.previous)
                yield from [guess.flaw] if guess.flaw else []
                yield from self._check_body(guess.header, body)
                self._move(guess.header.seq, value, value)
                return
        place, previous = self._seq + 1, self._stored
        yield from self._report_pending(None)
        yield from self._check_body(header, body)
        if header.seq == place:
            self._move(place, value, link(header, previous))
            return
        yield self._flaw(place, "event", f"event {place}", f"event {header.seq}")
        if header.seq > place:  # some are missing: continue from here; an earlier one again is ignored
            self._move(header.seq, value, value)

    def _guesses(self, header: HashedFields, body: str) -> Iterator[_Guess]:
        """Yield what the event may have been when it was hashed, most likely first."""
        place = self._seq + 1
        yield _Guess(header, self._stored)
        yield _Guess(header, self._derived)
        wrong_seq = self._flaw(place, "seq", str(place), str(header.seq))
        yield _Guess(header._replace(seq=place), self._stored, wrong_seq)
        wrong_digest = self._flaw(place, "digest", body, header.digest)
        yield _Guess(header._replace(digest=body), self._stored, wrong_digest)

    def _move(self, seq: int, stored: str, derived: str) -> None:
        self._seq, self._stored, self._derived = seq, stored, derived

    def _report_pending(self, built_on: str | None) -> Iterator[Flaw]:
        """Report the last event if its hash did not match, given the hash that the next one was built on."""
        stored, derived = self._stored, self._derived
        if stored == derived:
            return
        if built_on == derived:
            yield self._flaw(self._seq, "hash", derived, stored)
        else:
            changed = HASHED if built_on == stored else f"{HASHED}, or hash"
            yield self._flaw(self._seq, changed, f"a hash of {stored}", derived)

    def _check_body(self, header: HashedFields, body: str) -> Iterator[Flaw]:
        if body != header.digest:
            yield self._flaw(header.seq, "body", header.digest, body)

    def _flaw(self, seq: int | None, field: str, expected: str, value: str) -> Flaw:
        return Flaw(field, expected, value, self._ctx.workspace, self._ctx.session, seq)


def check_session(store: Store, ctx: Ctx) -> Iterator[Flaw]:
    """Recompute every hash of a session through any store, and yield what does not match."""
    check = ChainCheck(ctx)
    try:
        head = store.head(ctx)
        for stored in store.read(ctx, until=head.seq):
            yield from check.see(_row(stored))
        yield from check.end(head)
    except StoreError as error:
        yield Flaw("events", "all of them", str(error), ctx.workspace, ctx.session)


def _row(stored: StoredEvent) -> EventRow:
    event = stored.event
    body = digest(canonical(event.body))
    return EventRow(
        stored.seq, event.id, event.kind, event.version, event.time, stored.digest, stored.hash, body
    )
