"""Audit a store in SQLite: recompute every hash and body in it, and report exactly what is wrong.

The audit relies on no stored hash or index: it reads the raw rows in the order they were written, and
continues past what cannot be read. It changes nothing.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from clew.errors import ClewError, NotFound, StoreDamaged, StoreTooNew, StoreUnwritable
from clew.log import (
    KINDS,
    LOOP,
    PIN,
    ChainCheck,
    EventKind,
    EventRow,
    Flaw,
    LogProblem,
    View,
    digest,
    fold,
    parse_body,
)
from clew.log.protocol import Ctx, Event, Head, Store, StoredEvent
from clew.log.store.connection import APPLICATION_ID, UNREADABLE, connect_read_only, translate_errors
from clew.log.store.database import migrate, migrations, statements
from clew.log.store.sqlite import SqliteStore, attach, session_seal, unpack

MAX_SQLITE_LINES = 100
"""Lines of SQLite's own check that are reported: a damaged file can have any number (100 is its default)."""
MAX_UNREADABLE = 10_000
"""Rows that are tried one by one behind an unreadable one: damage may claim a last row of any number."""
T = TypeVar("T")


FindSkippedEvents = Callable[[Store, Ctx], tuple[LogProblem, ...]]
"""Returns the events of a session that are skipped when it is opened: ``session.replay.skipped_events``."""
_NOTHING = "nothing"
"""What is expected or found if a table should not exist, or does not."""


@dataclass(frozen=True, slots=True)
class SessionAudit:
    """Audit result of one session."""

    ctx: Ctx
    head: Head
    events: int
    visible: int
    """Messages in its view."""
    skipped: Mapping[str, int]
    """How many events of unknown kinds it has, by kind."""
    problems: tuple[LogProblem, ...] = ()
    """Events that are intact but do not apply: they are skipped when the session is opened."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Audit result of a store."""

    path: Path
    sessions: tuple[SessionAudit, ...]
    blobs: int
    flaws: tuple[Flaw, ...]

    @property
    def sound(self) -> bool:
        """Return True if everything is as it was written."""
        return not self.flaws

    @property
    def problems(self) -> int:
        """Return how many events do not apply."""
        return sum(len(session.problems) for session in self.sessions)


def audit(
    path: Path, kinds: Mapping[str, EventKind] = KINDS, skipped_events: FindSkippedEvents | None = None
) -> AuditReport:
    """Check a store's file: every hash, every body, every fold, and SQLite's own structure.

    ``skipped_events`` checks the sessions that have manual changes to rules or open work.
    """
    if not path.is_file():
        raise NotFound(f"there is no store at {path}")
    rest = _state_at_rest(path)
    report = _audit(path, kinds, skipped_events, at_rest=rest is not None)
    if rest is not None and _state_at_rest(path) != rest:  # another process has started to write
        report = _audit(path, kinds, skipped_events, at_rest=False)
    return report


def _state_at_rest(path: Path) -> tuple[int, int] | None:
    """Return the file's size and time if no process seems to have it open, else None."""
    if any(path.with_name(path.name + side).exists() for side in ("-wal", "-journal")):
        return None
    state = path.stat()
    return state.st_size, state.st_mtime_ns


def _audit(
    path: Path, kinds: Mapping[str, EventKind], skipped_events: FindSkippedEvents | None, at_rest: bool
) -> AuditReport:
    with translate_errors(path), closing(connect_read_only(path, at_rest)) as database:
        # Decodes damaged text too; its hash will not match.
        database.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        database.execute("BEGIN")  # a consistent snapshot, even if others write meanwhile
        _require_openable(database, path)
        checks = _Audit(database, kinds)
        flaws = tuple(checks.run())
        if skipped_events and not flaws:
            for session in checks.with_manual_changes():
                session.problems = skipped_events(_ReadOnlyStore(path, database), session.ctx)
    return AuditReport(path, tuple(s.report() for s in checks.sessions.values()), len(checks.blobs), flaws)


def _require_openable(database: sqlite3.Connection, path: Path) -> None:
    """Raise ``StoreUnwritable`` if SQLite cannot open the file here; a damaged file passes."""
    try:
        database.execute("PRAGMA schema_version").fetchone()
    except UNREADABLE as cause:
        if getattr(cause, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            detail = f"{path} was not closed by its last writer and cannot be opened in a read-only place"
            advice = "copy it with its -wal and -shm files to a writable folder and audit the copy"
            raise StoreUnwritable(detail, advice) from cause


@dataclass(slots=True)
class _SessionCheck:
    """One session while its events are read."""

    ctx: Ctx
    head: Head
    check: ChainCheck
    view: View = field(default_factory=View)
    events: int = 0
    problems: tuple[LogProblem, ...] = ()

    def report(self) -> SessionAudit:
        log_problems = {*self.view.problems, *self.problems}
        view = self.view
        return SessionAudit(
            self.ctx, self.head, self.events, len(view.entries), view.skipped, tuple(sorted(log_problems))
        )

    def flaw(self, seq: int | None, where: str, expected: str, value: str) -> Flaw:
        return Flaw(where, expected, value, self.ctx.workspace, self.ctx.session, seq)


class _ReadOnlyStore(SqliteStore):
    """The store as the audit sees it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._database = _AuditConnection(connection)  # type: ignore[assignment]  # lends one connection, for reading


class _AuditConnection:
    """Provides the audit's connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        yield self._connection

    def writing(self) -> NoReturn:
        raise StoreUnwritable("an audit reads only")


class _Audit:
    """One pass over a file."""

    def __init__(self, database: sqlite3.Connection, kinds: Mapping[str, EventKind]) -> None:
        self._database = database
        self._kinds = kinds
        self.sessions: dict[object, _SessionCheck] = {}
        self.blobs: set[tuple[object, object]] = set()
        self._used: set[tuple[object, object]] = set()

    def run(self) -> Iterator[Flaw]:
        yield from self._readable("SQLite's own structure", self._check_sqlite())
        schema = list(self._readable("schema", self._check_schema()))
        yield from schema
        if any(_is_unreadable_table(flaw) for flaw in schema):
            return
        yield from self._readable("sessions", self._check_sessions())
        yield from self._check_blobs()
        yield from self._check_events()
        for session in self.sessions.values():
            yield from session.check.end(session.head)
        for workspace, name in sorted(self.blobs - self._used, key=repr):
            yield Flaw(f"blob {name}", "an event that holds it", "none", str(workspace))

    def _readable(self, what: str, flaws: Iterator[Flaw]) -> Iterator[Flaw]:
        try:
            yield from flaws
        except UNREADABLE as error:
            yield Flaw(what, "something that can be read", str(error))

    def _check_sqlite(self) -> Iterator[Flaw]:
        for (line,) in self._database.execute(f"PRAGMA integrity_check({MAX_SQLITE_LINES})"):
            if line != "ok":
                yield Flaw("SQLite's own structure", "ok", line)

    def _check_schema(self) -> Iterator[Flaw]:
        (application,) = self._database.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            yield Flaw("application id", str(APPLICATION_ID), str(application))
        actual = _schema(self._database)
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
            migrate(fresh)
            expected = _schema(fresh)
        for name in sorted(expected.keys() | actual.keys()):
            if expected.get(name) != actual.get(name):
                yield Flaw(name, expected.get(name, _NOTHING), actual.get(name, _NOTHING))
        if "table migration" in actual:
            yield from self._check_migrations()

    def _check_migrations(self) -> Iterator[Flaw]:
        applied = self._database.execute(statements()["migrations"]).fetchall()
        expected = [(m.version, m.name, m.checksum) for m in migrations()]
        if len(applied) > len(expected):
            raise StoreTooNew(f"the store has schema {applied[-1][0]}, this clew knows {expected[-1][0]}")
        if applied != expected:
            yield Flaw("migrations", repr(expected), repr(applied))

    def _check_sessions(self) -> Iterator[Flaw]:
        for key, workspace, name, seal, seq, head_hash in self._database.execute(
            statements()["all_sessions"]
        ):
            try:
                ctx = Ctx(workspace=_require_type(workspace, str), session=_require_type(name, str))
                head = Head(_require_type(seq, int), _require_type(head_hash, str))
            except ClewError as error:
                yield Flaw(f"session row {key}", "a workspace, a name and a head", error.detail)
                continue
            self.sessions[key] = session = _SessionCheck(ctx, head, ChainCheck(ctx))
            if seal != session_seal(ctx):
                yield session.flaw(None, "seal", session_seal(ctx), repr(seal))

    def with_manual_changes(self) -> list[_SessionCheck]:
        """Return the sessions that have manual changes to rules or open work."""
        kinds = {"first": PIN.name, "second": LOOP.name}
        rows = self._database.execute(statements()["sessions_with"], kinds).fetchall()
        return [self.sessions[key] for (key,) in rows if key in self.sessions]

    def _check_blobs(self) -> Iterator[Flaw]:
        for row in self._rows("blob"):
            if isinstance(row, Flaw):
                yield row
                continue
            _, workspace, name, checksum, content = row
            self.blobs.add((workspace, name))
            try:
                unpack(name, _require_type(checksum, int), _require_type(content, bytes))
            except StoreDamaged as error:
                yield Flaw(f"blob {name}", "the content of that hash", error.detail, str(workspace))

    def _check_events(self) -> Iterator[Flaw]:
        """Check every event: its hash, its body, its session, and that it can be folded."""
        for row in self._rows("event"):
            if isinstance(row, Flaw):
                yield row
                continue
            rowid, key, fields, laid_out = row[0], row[1], row[2:-1], row[-1]
            session = self.sessions.get(key)
            if session is None:
                yield Flaw(f"event row {rowid}", "a session it belongs to", f"session row {key}")
                continue
            session.events += 1
            try:
                body = self._body(session.ctx.workspace, laid_out)
            except StoreDamaged as error:
                yield from session.check.see(EventRow._make((*fields, error.detail)))
                continue
            flaws = list(session.check.see(EventRow._make((*fields, digest(body)))))
            yield from flaws or self._fold(session, fields, body)

    def _body(self, workspace: str, laid_out: object) -> bytes:
        def fetch(name: str) -> bytes:
            self._used.add((workspace, name))
            query = {"workspace": workspace, "digest": name}
            try:
                row = self._database.execute(statements()["blob"], query).fetchone()
            except UNREADABLE as error:
                raise StoreDamaged(f"blob {name} cannot be read ({error})") from error
            if row is None:
                raise StoreDamaged(f"blob {name} is missing")
            return unpack(name, _require_type(row[0], int), _require_type(row[1], bytes))

        return attach(_require_type(laid_out, bytes), fetch)

    def _fold(self, session: _SessionCheck, fields: tuple[Any, ...], body: bytes) -> Iterator[Flaw]:
        seq, name, kind, version, time, body_digest, event_hash = fields
        try:
            stored = StoredEvent(
                seq, body_digest, event_hash, Event(name, kind, version, time, parse_body(body))
            )
            session.view = fold([stored], session.view, self._kinds)
            if event_kind := self._kinds.get(kind):  # its messages must be readable
                event_kind.messages(event_kind.current(stored).event.body)
        except ClewError as error:
            yield session.flaw(seq, "fold", "something this clew can read", error.detail)

    def _rows(self, table: str) -> Iterator[tuple[Any, ...] | Flaw]:
        """Yield the rows of a table in the order they were written, and a flaw for each unreadable range.

        Behind an unreadable row, reading starts again one row later until a row can be read.
        """
        start = 1
        lost: Flaw | None = None  # the unreadable range that has begun; yielded when its end is known
        for tries in itertools.count():
            if lost and (start > self._last_row(table) or tries > MAX_UNREADABLE):
                break
            try:
                for row in self._database.execute(statements()[f"all_{table}s"], {"from": start}):
                    if row[0] < start:  # a damaged tree may lead back to rows that were read, without end
                        raise sqlite3.DatabaseError("its rows are out of order")
                    if lost:
                        yield replace(lost, field=f"{lost.field} to {row[0] - 1}")
                        lost = None
                    start = row[0] + 1
                    yield row
                break
            except UNREADABLE as error:
                lost = lost or Flaw(f"{table} row {start}", "rows that can be read", str(error))
                start += 1
        if lost:
            yield replace(lost, field=f"{lost.field} and on")

    def _last_row(self, table: str) -> int:
        try:
            (last,) = self._database.execute(statements()[f"last_{table}"]).fetchone()
        except UNREADABLE:
            return 0
        return last or 0


def _schema(database: sqlite3.Connection) -> dict[str, str]:
    """Return the definition of each table, index and trigger, without the statistics of ``ANALYZE``."""
    rows = database.execute(statements()["schema"])
    return {
        f"{kind} {name}": f"on {table}: {sql}"
        for kind, name, table, sql in rows
        if not str(name).startswith("sqlite_stat")
    }


def _is_unreadable_table(flaw: Flaw) -> bool:
    """Return True if the tables cannot be read: one of them, or the schema, is not as it should be.

    A table that someone added is a flaw too, but those of the store can still be read.
    """
    return flaw.field.startswith(("schema", "table")) and flaw.expected != _NOTHING


def _require_type(value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise StoreDamaged(f"{value!r} is not of type {kind.__name__}")
    return value
