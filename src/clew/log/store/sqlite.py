"""The log in a SQLite file: no server, several threads and processes.

Long texts are stored apart from their events, each once, compressed: the body ``{"text":"…50 kB…"}`` is kept
as ``{"text":␂sha256:9f…␃}``. A body is canonical JSON, in which control characters occur only escaped, so a
raw STX…ETX can mark the place of a long string unambiguously, and putting the string back restores the body
byte for byte. Strings are what repeats in real sessions (a file read again, an image sent again), in bodies
that differ by an id.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from clew.errors import ClewError, DuplicateEvent, NotFound, StoreDamaged, UnsafeFileSystem
from clew.log import EncodedEvent, chain, digest, digest_of_fields, encode, parse_body, root
from clew.log.chain import ZSTD_MAGIC
from clew.log.protocol import (
    Ctx,
    Event,
    Head,
    SessionInfo,
    Snapshots,
    Store,
    StoredEvent,
    require_head,
    require_name,
)
from clew.log.store.connection import Mount, network_type, read_mounts
from clew.log.store.database import Database, statements
from clew.message import JsonObject
from clew.settings import NetworkDisk

SEPARATE_FROM = 2048
"""Texts longer than this, in bytes, are stored apart. Measured on 64 MB of real messages: the file takes 81
MB with nothing apart, 56 MB from 4 KiB, 48 MB from 2 KiB, 45 MB from 1 KiB; each step down costs a quarter of
the reading speed."""

# Possessive quantifiers: backtracking would use some 60 bytes of memory for every escape in a string.
# A JSON string with its quotes: "a \"b\" c".
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MARK = re.compile(rb"\x02(sha256:[0-9a-f]{64})\x03")
"""The place of a text that is stored apart."""


def detach(body: bytes) -> tuple[bytes, dict[str, bytes]]:
    """Return a body with its long strings replaced by marks, and those strings by digest."""
    if len(body) <= SEPARATE_FROM:
        return body, {}
    blobs: dict[str, bytes] = {}

    def mark(content: bytes) -> bytes:
        name = digest(content)
        blobs[name] = content
        return b"\x02" + name.encode() + b"\x03"

    short = _STRING.sub(lambda match: mark(match[0]) if len(match[0]) > SEPARATE_FROM else match[0], body)
    # Still long because of many short strings: then the whole body is stored apart.
    return (short if len(short) <= SEPARATE_FROM else mark(short)), blobs


def detach_all(encoded: Iterable[EncodedEvent]) -> tuple[list[bytes], dict[str, bytes]]:
    """Return the bodies of events with their long strings replaced by marks, and those strings by digest."""
    bodies: list[bytes] = []
    blobs: dict[str, bytes] = {}
    for event in encoded:
        body, apart = detach(event.body)
        bodies.append(body)
        blobs |= apart
    return bodies, blobs


def attach(body: bytes, fetch: Callable[[str], bytes]) -> bytes:
    """Return the original body; ``fetch`` returns a blob by its digest."""
    if whole := _MARK.fullmatch(body):
        body = fetch(whole[1].decode())
    return _MARK.sub(lambda match: fetch(match[1].decode()), body)


def is_apart(body: bytes) -> bool:
    """Return True if a stored body is nothing but the digest of a blob that holds all of it."""
    return _MARK.fullmatch(body) is not None


def marks(body: bytes) -> list[str]:
    """Return the digests of the blobs that a stored body names directly."""
    return [match.decode() for match in _MARK.findall(body)]


def pack(content: bytes) -> tuple[int, bytes]:
    """Return what is stored for a blob: a checksum of the stored bytes, and those bytes."""
    import zstandard

    packed = zstandard.ZstdCompressor(level=3).compress(content)
    stored = packed if len(packed) < len(content) else content
    return zlib.crc32(stored), stored


def unpack(name: str, checksum: int, stored: bytes) -> bytes:
    """Return a blob's content, or raise ``StoreDamaged``."""
    if zlib.crc32(stored) != checksum:  # first, so that a damaged frame never reaches the decompressor
        raise StoreDamaged(f"blob {name}: its checksum is {zlib.crc32(stored)}, not {checksum}")
    content = stored
    if stored.startswith(ZSTD_MAGIC):
        import zstandard

        content = zstandard.ZstdDecompressor().decompress(stored)
    if digest(content) != name:
        raise StoreDamaged(f"blob {name}: its content is {digest(content)}")
    return content


def find_session(database: sqlite3.Connection, ctx: Ctx) -> tuple[int | None, Head]:
    """Return a session's key and head; the key is None if it has no events yet."""
    query = {"workspace": ctx.workspace, "session": ctx.session}
    row = database.execute(statements()["session_of"], query).fetchone()
    if row is None:
        return None, root(ctx.session)
    key, seq, head_hash = row
    if not isinstance(seq, int) or not isinstance(head_hash, str):
        raise StoreDamaged(f"session {ctx.session!r}: its head is {seq!r}, {head_hash!r}")
    return key, Head(seq, head_hash)


def move_head(database: sqlite3.Connection, ctx: Ctx, key: int | None, head: Head) -> int | None:
    """Write a session's new head, creating the session if needed; return its key."""
    if key is not None:
        database.execute(statements()["move_head"], {"key": key, **head._asdict()})
        return key
    row = {"workspace": ctx.workspace, "session": ctx.session, "seal": session_seal(ctx), **head._asdict()}
    return database.execute(statements()["add_session"], row).lastrowid


def session_seal(ctx: Ctx) -> str:
    """Return the hash that binds a session to its workspace.

    The chain covers the session's name only, so that a session can be imported into another workspace.
    """
    return digest_of_fields("clew.store/1", ctx.workspace, ctx.session)


def add_events(
    database: sqlite3.Connection, key: int | None, stored: Sequence[StoredEvent], bodies: Sequence[bytes]
) -> None:
    """Write events with their bodies as laid out for the file."""
    rows = (
        (key, s.seq, s.event.id, s.event.kind, s.event.version, s.event.time, s.digest, s.hash, body)
        for s, body in zip(stored, bodies, strict=True)
    )
    try:
        database.executemany(statements()["add_event"], rows)
    except sqlite3.IntegrityError as cause:
        if "event.id" in str(cause):
            detail = f"one of the {len(stored)} events starting with {stored[0].event.id!r}"
            raise DuplicateEvent(detail) from cause
        raise StoreDamaged(f"a session's head is behind its events ({cause})") from cause


def events_statement(kinds: Collection[str] | None) -> str:
    """Return the name of the statement that reads events of these kinds."""
    if kinds is None:
        return "events"
    return "events_of_kinds" if "message" in kinds else "other_events_of_kinds"


def event_from_row(ctx: Ctx, row: tuple[Any, ...], fetch: Callable[[str], bytes]) -> StoredEvent:
    """Return the event of a row after checking its body; ``fetch`` returns a blob by its digest."""
    seq, event_id, kind, version, time, body_digest, event_hash, laid_out = row
    try:
        body = attach(laid_out, fetch)
        event = Event(event_id, kind, version, time, parse_body(body))
    except (ClewError, TypeError, AttributeError) as cause:
        why = cause.detail if isinstance(cause, ClewError) else "a field is of the wrong type"
        raise StoreDamaged(f"session {ctx.session!r}, event {seq}: {why}") from cause
    if digest(body) != body_digest:
        raise StoreDamaged(f"session {ctx.session!r}, event {seq}: its body is {digest(body)}")
    return StoredEvent(seq, body_digest, event_hash, event)


def snapshot_row(head: Head, body: JsonObject) -> dict[str, Any]:
    """Return what is stored for a snapshot of a session at a head."""
    text = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    checksum, content = pack(text)
    return {**head._asdict(), "digest": digest(text), "checksum": checksum, "content": content}


def snapshot_from_row(row: tuple[Any, ...] | None) -> tuple[Head, JsonObject] | None:
    """Return the snapshot of a row; None if there is none or it cannot be read: it can be derived again."""
    if row is None:
        return None
    seq, head_hash, *stored = row
    try:
        return Head(seq, head_hash), json.loads(unpack(*stored).decode("utf-8", "surrogatepass"))
    except (StoreDamaged, ValueError):
        return None


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
            raise UnsafeFileSystem(f"{path} is on a network file system ({kind})")
        self.path = path
        self._database = Database(path, busy_s, exclusive=kind is not None)

    def close(self) -> None:
        """Close the file. The store cannot be used afterwards."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    # The Store interface -------------------------------------------------------------------------------

    def append(self, ctx: Ctx, events: Sequence[Event], expect: Head | None) -> Head:
        """Append all the events, durably, or none; return the new head."""
        encoded = [encode(event) for event in events]
        bodies, blobs = self._lay_out(ctx, encoded)
        with self._database.writing() as connection:
            key, head = find_session(connection, ctx)
            require_head(ctx, head, expect)
            if not events:
                return head
            stored = chain(head, encoded)
            key = move_head(connection, ctx, key, stored[-1].head)
            connection.executemany(statements()["add_blob"], blobs)
            add_events(connection, key, stored, bodies)
        return stored[-1].head

    def read(
        self, ctx: Ctx, after: int = 0, until: int | None = None, kinds: Collection[str] | None = None
    ) -> Iterator[StoredEvent]:
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
                yield event_from_row(ctx, row, lambda name: self._blob(ctx, name))
            if len(rows) < PAGE:
                return
            query["after"] = rows[-1][0]

    def head(self, ctx: Ctx) -> Head:
        """Return the head; for a session without events, 0 and the root hash of its name."""
        with self._database.reading() as connection:
            return find_session(connection, ctx)[1]

    def find(self, ctx: Ctx, event_id: str) -> StoredEvent:
        """Return the event with that id, or raise ``NotFound``."""
        require_name("event id", event_id)
        with self._database.reading() as connection:
            key, _ = find_session(connection, ctx)
            row = connection.execute(statements()["event_by_id"], {"key": key, "id": event_id}).fetchone()
        if row is None:
            raise NotFound(f"there is no event {event_id!r} in session {ctx.session!r}")
        return event_from_row(ctx, row, lambda name: self._blob(ctx, name))

    def sessions(self, workspace: str) -> Iterator[SessionInfo]:
        """Yield the sessions of a workspace, oldest first."""
        require_name("workspace", workspace)
        with self._database.reading() as connection:
            rows = connection.execute(statements()["sessions"], {"workspace": workspace}).fetchall()
        for session, seq, head_hash, first, last in rows:
            yield SessionInfo(session, Head(seq, head_hash), first, last)

    def save_snapshot(self, ctx: Ctx, head: Head, body: JsonObject) -> None:
        """Store a snapshot of the session at that head, replacing an earlier one."""
        row = snapshot_row(head, body)
        with self._database.writing() as connection:
            key, _ = find_session(connection, ctx)
            if key is not None:
                connection.execute(statements()["keep_snapshot"], {**row, "session": key})

    def load_snapshot(self, ctx: Ctx) -> tuple[Head, JsonObject] | None:
        """Return the last snapshot; None if there is none or it cannot be read."""
        with self._database.reading() as connection:
            key, _ = find_session(connection, ctx)
            row = connection.execute(statements()["snapshot"], {"session": key}).fetchone()
        return snapshot_from_row(row)

    # Inside --------------------------------------------------------------------------------------------

    def _lay_out(
        self, ctx: Ctx, encoded: Sequence[EncodedEvent]
    ) -> tuple[list[bytes], list[tuple[str, str, int, bytes]]]:
        """Return the bodies as laid out for the file, and the new blobs; needs no write lock."""
        bodies, apart = detach_all(encoded)
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
