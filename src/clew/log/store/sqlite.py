"""The log in a SQLite file: no server, several threads and processes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from clew.errors import HeadMoved, NotFound, StoreDamaged, UnsafeFileSystem
from clew.log import Encoded, chain, digest, encode
from clew.log.events import Ctx, Event, Head, SessionInfo, Stored, require_name
from clew.log.protocol import Store
from clew.log.snapshots import Snapshots
from clew.log.store.blobs import detach, pack, unpack
from clew.log.store.database import Database
from clew.log.store.disks import Mount, network_type, read_mounts
from clew.log.store.rows import add_events, event_of, events_statement, find_session, move_head
from clew.log.store.sql import statements
from clew.message import JsonObject
from clew.settings import NetworkDisk

PAGE = 256
"""Events read at a time: no transaction stays open while the caller handles one."""


class SqliteStore(Store, Snapshots):
    """Keeps logs in a SQLite file. Share one between threads; after a fork each process has its own.

    On a network file system it refuses to open, or with ``NetworkDisk.EXCLUSIVE`` opens for one process at a
    time.
    """

    def __init__(
        self,
        path: Path | str,
        busy_s: float = 10.0,
        network: NetworkDisk = NetworkDisk.REFUSE,
        mounts: Callable[[], Sequence[Mount]] = read_mounts,
    ) -> None:
        path = Path(path)
        kind = network_type(path, mounts())
        if kind and network is NetworkDisk.REFUSE:
            raise UnsafeFileSystem(f"{path} lies on {kind}")
        self.path = path
        self._database = Database(path, busy_s, exclusive=kind is not None)

    def close(self) -> None:
        """Close the file. The store cannot be used afterwards."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The port ------------------------------------------------------------------------------------------

    def append(self, ctx: Ctx, events: Sequence[Event], expect: Head | None) -> Head:
        """Append all the events, durably, or none; return the new head."""
        encoded = [encode(event) for event in events]
        bodies, blobs = self._lay_out(ctx, encoded)
        with self._database.writing() as connection:
            key, head = find_session(connection, ctx)
            if expect is not None and expect != head:
                raise HeadMoved(f"session {ctx.session!r} is at event {head.seq}, not at {expect.seq}")
            if not events:
                return head
            stored = chain(head, encoded)
            key = move_head(connection, ctx, key, stored[-1].head)
            connection.executemany(statements()["add_blob"], blobs)
            add_events(connection, key, stored, bodies)
        return stored[-1].head

    def read(
        self, ctx: Ctx, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> Iterator[Stored]:
        """Yield the events in order: those after ``after`` up to ``until``, of these kinds."""
        with self._database.reading() as connection:
            key, head = find_session(connection, ctx)
        query = {
            "key": key,
            "after": max(0, min(after, head.seq)),
            "until": head.seq if until is None else max(0, min(until, head.seq)),
            "kinds": None if kinds is None else json.dumps(list(kinds)),
            "page": PAGE,
        }
        statement = statements()[events_statement(kinds)]
        while True:
            with self._database.reading() as connection:
                rows = connection.execute(statement, query).fetchall()
            for row in rows:
                yield event_of(ctx, row, lambda name: self._blob(ctx, name))
            if len(rows) < PAGE:
                return
            query["after"] = rows[-1][0]

    def head(self, ctx: Ctx) -> Head:
        """Return the head; for a session without events, 0 and the root hash of its name."""
        with self._database.reading() as connection:
            return find_session(connection, ctx)[1]

    def find(self, ctx: Ctx, event_id: str) -> Stored:
        """Return the event with that id, or raise ``NotFound``."""
        require_name("event id", event_id)
        with self._database.reading() as connection:
            key, _ = find_session(connection, ctx)
            row = connection.execute(statements()["event_by_id"], {"key": key, "id": event_id}).fetchone()
        if row is None:
            raise NotFound(f"there is no event {event_id!r} in session {ctx.session!r}")
        return event_of(ctx, row, lambda name: self._blob(ctx, name))

    def sessions(self, workspace: str) -> Iterator[SessionInfo]:
        """Yield the sessions of a workspace, oldest first."""
        require_name("workspace", workspace)
        with self._database.reading() as connection:
            rows = connection.execute(statements()["sessions"], {"workspace": workspace}).fetchall()
        for session, seq, head_hash, first, last in rows:
            yield SessionInfo(session, Head(seq, head_hash), first, last)

    def keep(self, ctx: Ctx, head: Head, body: JsonObject) -> None:
        """Store a snapshot of the session at that head, replacing an earlier one."""
        text = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        checksum, content = pack(text)
        row = {"seq": head.seq, "hash": head.hash, "digest": digest(text), "checksum": checksum}
        with self._database.writing() as connection:
            key, _ = find_session(connection, ctx)
            if key is not None:
                query = {**row, "session": key, "content": content}
                connection.execute(statements()["keep_snapshot"], query)

    def kept(self, ctx: Ctx) -> tuple[Head, JsonObject] | None:
        """Return the last snapshot; None if there is none or it cannot be read."""
        with self._database.reading() as connection:
            key, _ = find_session(connection, ctx)
            row = connection.execute(statements()["snapshot"], {"session": key}).fetchone()
        if row is None:
            return None
        try:
            body = json.loads(unpack(*row[2:]).decode("utf-8", "surrogatepass"))
        except (StoreDamaged, ValueError):
            return None  # it can be derived again
        return Head(row[0], row[1]), body

    # Inside --------------------------------------------------------------------------------------------

    def _lay_out(
        self, ctx: Ctx, encoded: Sequence[Encoded]
    ) -> tuple[list[bytes], list[tuple[str, str, int, bytes]]]:
        """Return the bodies as laid out for the file, and the new blobs; needs no write lock."""
        bodies = []
        apart: dict[str, bytes] = {}
        for event in encoded:
            body, blobs = detach(event.body)
            bodies.append(body)
            apart |= blobs
        rows = [
            (ctx.workspace, name, *pack(content))
            for name, content in apart.items()
            if not self._has_blob(ctx, name)
        ]
        return bodies, rows

    def _has_blob(self, ctx: Ctx, name: str) -> bool:
        with self._database.reading() as connection:
            query = {"workspace": ctx.workspace, "digest": name}
            return connection.execute(statements()["has_blob"], query).fetchone() is not None

    def _blob(self, ctx: Ctx, name: str) -> bytes:
        with self._database.reading() as connection:
            query = {"workspace": ctx.workspace, "digest": name}
            row = connection.execute(statements()["blob"], query).fetchone()
        if row is None:
            raise StoreDamaged(f"blob {name} is missing")
        return unpack(name, *row)
