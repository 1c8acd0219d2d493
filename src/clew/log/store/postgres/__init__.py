"""The log in PostgreSQL: many processes on many machines, workspaces isolated by row-level security.

Bodies are laid out as in the SQLite store: long texts apart from their events, each once per workspace. Needs
the extra ``clew[postgres]``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self

from clew.errors import DuplicateEvent, NotFound, StoreDamaged
from clew.log import ABOUT, EncodedEvent, chain, encode, root
from clew.log.protocol import (
    Ctx,
    Event,
    Head,
    ReadsPositions,
    SessionInfo,
    Snapshots,
    Store,
    StoredEvent,
    require_head,
    require_name,
)
from clew.log.store.postgres.connection import Connection, Connections, Rows, SqlQuery, UniqueViolation, sql
from clew.log.store.sqlite import (
    PAGE,
    detach_all,
    event_from_row,
    events_statement,
    is_apart,
    marks,
    pack,
    session_seal,
    snapshot_from_row,
    snapshot_row,
    unpack,
)
from clew.message import JsonObject

BLOBS_AT_ONCE = 8 * 1024 * 1024
"""Bytes of blobs, as stored, that are read together with a page of events, the smallest first; the others are
read one at a time, so that memory stays bounded by the largest event."""
LAST = 2**62
"""A position after every event; the columns of positions hold less than twice that."""
ANY_SIZE = 2**62
"""A limit in bytes that no blob reaches."""


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


class PostgresStore(Store, Snapshots, ReadsPositions):
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

    def __exit__(self, *_raised: object) -> None:
        self.close()

    # The protocol --------------------------------------------------------------------------------------

    def append(self, ctx: Ctx, events: Sequence[Event], expect: Head | None) -> Head:
        """Append all the events, durably, or none; return the new head.

        If the connection is lost while the transaction commits, the store looks whether it did.
        """
        layout = _lay_out(events)
        known_blobs = SqlQuery(
            sql("known_blobs"), {"workspace": ctx.workspace, "digests": list(layout.blobs)}
        )
        lock = _named("lock_session", ctx)

        def append_with_texts(connection: Connection, retrying: bool, known: Rows) -> Head:
            new = _new_blobs(layout.blobs, {name for (name,) in known})  # compressed before the lock is taken
            locked = connection.execute(*lock).fetchall()
            return _append(connection, ctx, layout, new, expect, locked, retrying=retrying)

        def append_small(connection: Connection, retrying: bool, locked: Rows) -> Head:
            return _append(connection, ctx, layout, {}, expect, locked, retrying=retrying)

        try:
            if layout.blobs:
                return self.connections.run_after(ctx.workspace, known_blobs, append_with_texts)
            return self.connections.run_after(ctx.workspace, lock, append_small)
        except UniqueViolation as cause:
            raise _not_unique(cause, events) from cause

    def read(
        self, ctx: Ctx, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> Iterator[StoredEvent]:
        """Yield the events in order: those after ``after`` up to ``until``, of these kinds."""
        statement = events_statement(kinds)
        bounds: dict[str, Any] = {"until": LAST if until is None else max(0, min(until, LAST)), "page": PAGE}
        bounds["kinds"] = None if kinds is None else list(kinds)
        start = max(0, min(after, LAST))
        page = _named(statement, ctx, **bounds, after=start)
        session, rows = self.connections.fetch(ctx.workspace, _named("session_of", ctx), page)
        last = _key_and_head(ctx, session)[1].seq
        while True:
            # The query may see events that were appended after the head was read.
            yield from self._events(ctx, [row for row in rows if row[0] <= last])
            if len(rows) < PAGE or rows[-1][0] >= min(last, bounds["until"]):
                return
            page = _named(statement, ctx, **bounds, after=rows[-1][0])
            (rows,) = self.connections.fetch(ctx.workspace, page)

    def read_at(self, ctx: Ctx, positions: Sequence[int]) -> Iterator[StoredEvent]:
        """Yield the events at these positions, in order; there may be gaps between them."""
        wanted = sorted(set(positions))
        for at in range(0, len(wanted), PAGE):
            query = _named("events_at", ctx, seqs=wanted[at : at + PAGE])
            (rows,) = self.connections.fetch(ctx.workspace, query)
            yield from self._events(ctx, rows)

    def head(self, ctx: Ctx) -> Head:
        """Return the head; for a session without events, 0 and the root hash of its name."""
        (rows,) = self.connections.fetch(ctx.workspace, _named("session_of", ctx))
        return _key_and_head(ctx, rows)[1]

    def find(self, ctx: Ctx, event_id: str) -> StoredEvent:
        """Return the event with that id, or raise ``NotFound``."""
        require_name("event id", event_id)
        (rows,) = self.connections.fetch(ctx.workspace, _named("event_by_id", ctx, id=event_id))
        for event in self._events(ctx, rows):
            return event
        raise NotFound(f"there is no event {event_id!r} in session {ctx.session!r}")

    def sessions(self, workspace: str) -> Iterator[SessionInfo]:
        """Yield the sessions of a workspace, oldest first."""
        require_name("workspace", workspace)
        (rows,) = self.connections.fetch(workspace, SqlQuery(sql("sessions"), {"workspace": workspace}))
        for session, seq, head_hash, first, last in rows:
            yield SessionInfo(session, Head(seq, head_hash), first, last)

    def unchanged(self, workspace: str, since: datetime) -> list[str]:
        """Return the names of the sessions without an append since a time, oldest first."""
        require_name("workspace", workspace)
        query = SqlQuery(sql("unchanged"), {"workspace": workspace, "before": since})
        (rows,) = self.connections.fetch(workspace, query)
        return [name for (name,) in rows]

    def save_snapshot(self, ctx: Ctx, head: Head, body: JsonObject) -> None:
        """Store a snapshot of the session at that head, replacing an earlier one."""
        self.connections.fetch(ctx.workspace, _named("keep_snapshot", ctx, **snapshot_row(head, body)))

    def load_snapshot(self, ctx: Ctx) -> tuple[Head, JsonObject] | None:
        """Return the last snapshot; None if there is none or it cannot be read."""
        (rows,) = self.connections.fetch(ctx.workspace, _named("snapshot", ctx))
        return snapshot_from_row(rows[0] if rows else None)

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

    def _events(self, ctx: Ctx, rows: Rows) -> Iterator[StoredEvent]:
        """Yield the events of rows; their texts are read together, also those inside of another text."""
        packed: dict[str, tuple[int, bytes]] = {}

        def fetch(name: str) -> bytes:
            found = packed if name in packed else self._blobs(ctx, [name], limit=ANY_SIZE)
            if name not in found:
                raise StoreDamaged(f"blob {name} is missing")
            return unpack(name, *found[name])

        # A body is marks of long texts, or one mark of a blob that holds the body with marks (see detach).
        packed |= self._blobs(ctx, [name for row in rows for name in marks(row[-1])])
        apart = [row[-1] for row in rows if is_apart(row[-1])]
        within = [name for body in apart for name in marks(body) if name in packed]
        packed |= self._blobs(ctx, [inner for name in within for inner in marks(fetch(name))])
        for row in rows:
            yield event_from_row(ctx, row, fetch)

    def _blobs(
        self, ctx: Ctx, names: Sequence[str], limit: int = BLOBS_AT_ONCE
    ) -> dict[str, tuple[int, bytes]]:
        if not names:
            return {}
        query = SqlQuery(
            sql("blobs"), {"workspace": ctx.workspace, "digests": [*dict.fromkeys(names)], "limit": limit}
        )
        (rows,) = self.connections.fetch(ctx.workspace, query)
        return {name: (checksum, content) for name, checksum, content in rows}


def _named(statement: str, ctx: Ctx, **values: Any) -> SqlQuery:  # noqa: ANN401 - values of any column
    """Return a statement about a session, with the session's name among its values."""
    return SqlQuery(sql(statement), {"workspace": ctx.workspace, "session": ctx.session, **values})


def _key_and_head(ctx: Ctx, rows: Rows) -> tuple[int | None, Head]:
    return (rows[0][0], Head(*rows[0][1:])) if rows else (None, root(ctx.session))


def _lay_out(events: Sequence[Event]) -> _Layout:
    encoded = [encode(event) for event in events]
    bodies, blobs = detach_all(encoded)
    people = (event.body.get("person") for event in events if event.kind == ABOUT.name)
    person = next((name for name in people if isinstance(name, str) and name), None)
    return _Layout(encoded, bodies, blobs, person)


def _append(  # noqa: PLR0913  # the parts of one append
    connection: Connection,
    ctx: Ctx,
    layout: _Layout,
    new_blobs: Mapping[str, list[Any]],
    expect: Head | None,
    locked: Rows,
    *,
    retrying: bool,
) -> Head:
    """Append in a transaction that has locked the session; ``locked`` is its row, none if it is new."""
    key, head = _key_and_head(ctx, locked)
    if key is None and layout.encoded:
        connection.execute(*_named("add_session", ctx, seal=session_seal(ctx), hash=head.hash))
        key, head = _key_and_head(ctx, connection.execute(*_named("lock_session", ctx)).fetchall())
    # Looked for under the lock: the server may still have been committing when the connection was lost.
    if retrying and layout.encoded and (done := _earlier_append(connection, ctx, layout.encoded)):
        return done
    require_head(ctx, head, expect)
    if not layout.encoded:
        return head
    stored = chain(head, layout.encoded)
    owner = {"workspace": ctx.workspace, "key": key}
    with connection.pipeline():  # one round trip
        head_row = {"key": key, "person": layout.person, **stored[-1].head._asdict()}
        connection.execute(sql("move_head"), head_row)
        if layout.blobs:
            if new_blobs.get("digests"):
                connection.execute(sql("add_blobs"), {**owner, **new_blobs})
            connection.execute(sql("use_blobs"), {**owner, "digests": list(layout.blobs)})
        connection.execute(sql("add_events"), {**owner, **_columns(stored, layout.bodies)})
        connection.execute(sql("commit"))
    return stored[-1].head


def _new_blobs(blobs: Mapping[str, bytes], known: Collection[str]) -> dict[str, list[Any]]:
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
    ends = (encoded[0], encoded[-1])
    queries = [_named("event_by_id", ctx, id=end.event.id) for end in ends]
    first, last = [connection.execute(*query).fetchone() for query in queries]
    if first is None or last is None:
        return None
    # The columns are seq, id, kind, version, time, digest, hash, body.
    return Head(last[0], last[6]) if (first[5], last[5]) == (ends[0].digest, ends[1].digest) else None


def _not_unique(cause: UniqueViolation, events: Sequence[Event]) -> Exception:
    if cause.diag.constraint_name == "event_id_once":
        return DuplicateEvent(f"one of the {len(events)} events starting with {events[0].id!r}")
    return StoreDamaged(f"a session's head is behind its events ({cause})")


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
