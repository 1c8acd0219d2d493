"""The log in PostgreSQL: many processes on many machines, workspaces isolated by row-level security.

Bodies are laid out as in the SQLite store: long texts apart from their events, each once per workspace.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

from clew.errors import DuplicateEvent, HeadMoved, NotFound, StoreDamaged
from clew.log import ABOUT, EncodedEvent, chain, digest, encode, root
from clew.log.protocol import Ctx, Event, Head, SessionInfo, Snapshots, Store, StoredEvent, require_name
from clew.log.store.postgres.connection import Connection, Connections, T, UniqueViolation, sql
from clew.log.store.sqlite import (
    PAGE,
    detach,
    event_from_row,
    events_statement,
    marks,
    pack,
    session_seal,
    unpack,
)
from clew.message import JsonObject

SMALL_BLOB = 32 * 1024
"""Blobs up to this size, as stored, are read together with a page of events; larger ones one at a time, so
that memory stays bounded by the largest event. 256 events a page at 32 KiB are at most a few MB."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Events as they are written: encoded, with their long texts apart."""

    encoded: Sequence[EncodedEvent]
    bodies: Sequence[bytes]
    blobs: Mapping[str, bytes]
    person: str | None
    """Whom the session belongs to, if one of the events says so."""


class DeletedRows(NamedTuple):
    """What was deleted. ``remaining`` counts rows found afterwards that should be gone: always 0."""

    sessions: int
    events: int
    blobs: int
    entries: int
    """Entries of the search index."""
    remaining: int


class PostgresStore(Store, Snapshots):
    """Keeps logs in a schema of a PostgreSQL database, which is created or migrated when the store opens.

    Share one between threads; after a fork each process has its own connections. In asynchronous code, call
    it through ``asyncio.to_thread``.
    """

    def __init__(self, address: str, *, schema: str = "clew", busy_s: float = 10.0, pool: int = 8) -> None:
        """``address`` is a connection string or URI of libpq; ``pool`` the largest number of connections."""
        self.address = address
        self.connections = Connections(address, schema, busy_s, pool)

    @property
    def isolated(self) -> bool:
        """Whether row-level security applies: False if the role is a superuser or has BYPASSRLS."""
        return self.connections.isolated

    def close(self) -> None:
        """Close all connections. The store cannot be used afterwards."""
        self.connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The protocol --------------------------------------------------------------------------------------

    def append(self, ctx: Ctx, events: Sequence[Event], expect: Head | None) -> Head:
        """Append all the events, durably, or none; return the new head.

        If the connection is lost while the transaction commits, the store looks whether it did.
        """
        layout = _lay_out(events)

        def work(connection: Connection, retrying: bool) -> Head:
            if retrying and events and (head := _earlier_append(connection, ctx, layout.encoded)):
                return head
            return _append(connection, ctx, layout, expect)

        try:
            return self.connections.run(ctx.workspace, work)
        except UniqueViolation as cause:
            raise _not_unique(cause, events) from cause

    def read(
        self, ctx: Ctx, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> Iterator[StoredEvent]:
        """Yield the events in order: those after ``after`` up to ``until``, of these kinds."""
        key, head = self._run(ctx, lambda connection: _find_session(connection, ctx))
        query: dict[str, Any] = {
            "key": key,
            "after": max(0, min(after, head.seq)),
            "until": head.seq if until is None else max(0, min(until, head.seq)),
            "kinds": None if kinds is None else list(kinds),
            "page": PAGE,
        }
        statement = sql(events_statement(kinds))
        while query["after"] < query["until"]:
            rows, blobs = self._run(ctx, lambda connection: _page(connection, ctx, statement, query))
            fetch = self._fetcher(ctx, blobs)
            for row in rows:
                yield event_from_row(ctx, row, fetch)
            if len(rows) < PAGE:
                return
            query["after"] = rows[-1][0]

    def head(self, ctx: Ctx) -> Head:
        """Return the head; for a session without events, 0 and the root hash of its name."""
        return self._run(ctx, lambda connection: _find_session(connection, ctx)[1])

    def find(self, ctx: Ctx, event_id: str) -> StoredEvent:
        """Return the event with that id, or raise ``NotFound``."""
        require_name("event id", event_id)

        def work(connection: Connection) -> tuple[list[tuple[Any, ...]], dict[str, bytes]]:
            key, _ = _find_session(connection, ctx)
            return _page(connection, ctx, sql("event_by_id"), {"key": key, "id": event_id})

        rows, blobs = self._run(ctx, work)
        if not rows:
            raise NotFound(f"there is no event {event_id!r} in session {ctx.session!r}")
        return event_from_row(ctx, rows[0], self._fetcher(ctx, blobs))

    def sessions(self, workspace: str) -> Iterator[SessionInfo]:
        """Yield the sessions of a workspace, oldest first."""
        require_name("workspace", workspace)
        query = {"workspace": workspace}
        rows = self.connections.run(workspace, lambda c, _: c.execute(sql("sessions"), query).fetchall())
        for session, seq, head_hash, first, last in rows:
            yield SessionInfo(session, Head(seq, head_hash), first, last)

    def save_snapshot(self, ctx: Ctx, head: Head, body: JsonObject) -> None:
        """Store a snapshot of the session at that head, replacing an earlier one."""
        text = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        checksum, content = pack(text)
        row = {"workspace": ctx.workspace, "seq": head.seq, "hash": head.hash, "digest": digest(text)}

        def work(connection: Connection) -> None:
            key, _ = _find_session(connection, ctx)
            if key is not None:
                kept = {**row, "key": key, "checksum": checksum, "content": content}
                connection.execute(sql("keep_snapshot"), kept)

        self._run(ctx, work)

    def load_snapshot(self, ctx: Ctx) -> tuple[Head, JsonObject] | None:
        """Return the last snapshot; None if there is none or it cannot be read."""
        row = self._run(
            ctx, lambda connection: connection.execute(sql("snapshot"), _context_parameters(ctx)).fetchone()
        )
        if row is None:
            return None
        try:
            body = json.loads(unpack(*row[2:]).decode("utf-8", "surrogatepass"))
        except (StoreDamaged, ValueError):
            return None  # it can be derived again
        return Head(row[0], row[1]), body

    # Forgetting ----------------------------------------------------------------------------------------

    def forget(
        self,
        workspace: str,
        session: str | None = None,
        *,
        person: str | None = None,
        unchanged_since: datetime | None = None,
    ) -> DeletedRows:
        """Delete sessions of a workspace: one, a person's, those without an append since a time, or all.

        A session belongs to the person that its log names first (``session.add(…, about={"person": …})``).

        Events, snapshots, the texts that no other session uses, and the entries, vectors and words of the
        search index are deleted in one transaction, which then counts what remains. The server's own files
        still hold deleted rows until it vacuums them, and so do backups.
        """
        require_name("workspace", workspace)
        query = {"workspace": workspace, "session": session, "person": person, "before": unchanged_since}
        return self.connections.run(workspace, lambda connection, _: _forget(connection, query))

    # Inside --------------------------------------------------------------------------------------------

    def _run(self, ctx: Ctx, work: Callable[[Connection], T]) -> T:
        return self.connections.run(ctx.workspace, lambda connection, _: work(connection))

    def _fetcher(self, ctx: Ctx, blobs: Mapping[str, bytes]) -> Callable[[str], bytes]:
        def fetch(name: str) -> bytes:
            if name in blobs:
                return blobs[name]
            fetched = self._run(ctx, lambda connection: _blobs(connection, ctx, [name], limit=1 << 40))
            if name not in fetched:
                raise StoreDamaged(f"blob {name} is missing")
            return fetched[name]

        return fetch


def _context_parameters(ctx: Ctx) -> dict[str, Any]:
    return {"workspace": ctx.workspace, "session": ctx.session}


def _find_session(connection: Connection, ctx: Ctx, statement: str = "session_of") -> tuple[int | None, Head]:
    row = connection.execute(sql(statement), _context_parameters(ctx)).fetchone()
    return (None, root(ctx.session)) if row is None else (row[0], Head(row[1], row[2]))


def _lay_out(events: Sequence[Event]) -> _Layout:
    encoded = [encode(event) for event in events]
    bodies: list[bytes] = []
    blobs: dict[str, bytes] = {}
    for event in encoded:
        body, apart = detach(event.body)
        bodies.append(body)
        blobs |= apart
    people = (event.body.get("person") for event in events if event.kind == ABOUT.name)
    person = next((name for name in people if isinstance(name, str) and name), None)
    return _Layout(encoded, bodies, blobs, person)


def _append(connection: Connection, ctx: Ctx, layout: _Layout, expect: Head | None) -> Head:
    """Append events in the current transaction; the session stays locked until its end."""
    new_blobs = _unknown_blobs(connection, ctx, layout.blobs)  # compressed before the session is locked
    key, head = _find_session(connection, ctx, "lock_session")
    if key is None and layout.encoded:
        connection.execute(
            sql("add_session"), {**_context_parameters(ctx), "seal": session_seal(ctx), "hash": head.hash}
        )
        key, head = _find_session(connection, ctx, "lock_session")
    if expect is not None and expect != head:
        raise HeadMoved(f"session {ctx.session!r} is at event {head.seq}, not at {expect.seq}")
    if not layout.encoded:
        return head
    stored = chain(head, layout.encoded)
    owner = {"workspace": ctx.workspace, "key": key}
    with connection.pipeline():  # one round trip
        head_row = {"key": key, "person": layout.person, **stored[-1].head._asdict()}
        connection.execute(sql("move_head"), head_row)
        if layout.blobs:
            if new_blobs["digests"]:
                connection.execute(sql("add_blobs"), {**owner, **new_blobs})
            connection.execute(sql("use_blobs"), {**owner, "digests": list(layout.blobs)})
        connection.execute(sql("add_events"), {**owner, **_columns(stored, layout.bodies)})
    return stored[-1].head


def _unknown_blobs(connection: Connection, ctx: Ctx, blobs: Mapping[str, bytes]) -> dict[str, list[Any]]:
    if not blobs:
        return {"digests": []}
    query = {"workspace": ctx.workspace, "digests": list(blobs)}
    known = {name for (name,) in connection.execute(sql("known_blobs"), query)}
    packed = {name: pack(content) for name, content in blobs.items() if name not in known}
    return {
        "digests": list(packed),
        "checksums": [checksum for checksum, _ in packed.values()],
        "contents": [content for _, content in packed.values()],
    }


def _columns(stored: Sequence[StoredEvent], bodies: Sequence[bytes]) -> dict[str, list[Any]]:
    return {
        "seqs": [event.seq for event in stored],
        "ids": [event.event.id for event in stored],
        "kinds": [event.event.kind for event in stored],
        "versions": [event.event.version for event in stored],
        "times": [event.event.time for event in stored],
        "digests": [event.digest for event in stored],
        "hashes": [event.hash for event in stored],
        "bodies": list(bodies),
    }


def _earlier_append(connection: Connection, ctx: Ctx, encoded: Sequence[EncodedEvent]) -> Head | None:
    """Return the head after these events if an earlier try appended them, else None."""
    key, _ = _find_session(connection, ctx)
    ends = (encoded[0], encoded[-1])
    queries = ({"key": key, "id": end.event.id} for end in ends)
    rows = [connection.execute(sql("event_by_id"), query).fetchone() for query in queries]
    first, last = rows
    if first is None or last is None or (first[5], last[5]) != (ends[0].digest, ends[1].digest):
        return None
    return Head(last[0], last[6])


def _not_unique(cause: UniqueViolation, events: Sequence[Event]) -> Exception:
    if cause.diag.constraint_name == "event_id_once":
        return DuplicateEvent(f"one of {len(events)} events from {events[0].id!r} on")
    return StoreDamaged(f"a session's head is behind its events ({cause})")


def _page(
    connection: Connection, ctx: Ctx, statement: bytes, query: Mapping[str, Any]
) -> tuple[list[tuple[Any, ...]], dict[str, bytes]]:
    """Return rows of events and their small blobs."""
    rows = connection.execute(statement, query).fetchall()
    names = [name for row in rows for name in marks(row[-1])]
    return rows, _blobs(connection, ctx, names, SMALL_BLOB) if names else {}


def _blobs(connection: Connection, ctx: Ctx, names: Sequence[str], limit: int) -> dict[str, bytes]:
    query = {"workspace": ctx.workspace, "digests": list(names), "limit": limit}
    rows = connection.execute(sql("blobs"), query).fetchall()
    return {name: unpack(name, checksum, content) for name, checksum, content in rows if content is not None}


def _forget(connection: Connection, query: Mapping[str, Any]) -> DeletedRows:
    connection.execute(sql("allow_forget"))
    found = connection.execute(sql("lock_workspace"), query).fetchall()
    keys = [key for key, _ in found]
    everything = all(query[name] is None for name in ("session", "person", "before"))
    owned: dict[str, Any] = {"workspace": query["workspace"], "keys": keys, "all": everything}
    owned["names"] = [name for _, name in found]
    owned["digests"] = [name for (name,) in connection.execute(sql("blobs_used_by"), owned)]
    events = _one(connection, "count_events", owned)
    connection.execute(sql("drop_sessions"), owned)
    blobs = connection.execute(sql("drop_blobs"), owned).rowcount
    entries = _forget_index(connection, owned)
    return DeletedRows(len(keys), events, blobs, entries, _one(connection, "remaining", owned))


def _forget_index(connection: Connection, owned: dict[str, Any]) -> int:
    """Delete the sessions from the search index; return how many entries they had."""
    connection.execute(sql("lock_index"), owned)
    owned["indexed"] = [key for (key,) in connection.execute(sql("indexed"), owned)]
    words = [word for (word,) in connection.execute(sql("indexed_words"), owned)]
    entries = _one(connection, "shrink_index", owned)
    connection.execute(sql("drop_indexed"), owned)
    connection.execute(sql("drop_words"), {**owned, "words": words})
    if owned["all"]:
        connection.execute(sql("drop_index"), owned)
    return entries


def _one(connection: Connection, statement: str, query: Mapping[str, Any]) -> int:
    row = connection.execute(sql(statement), query).fetchone()
    return row[0] if row else 0
