"""Pooled connections to a PostgreSQL server: transactions with retries, migrations, translated errors.

``connections.fetch(workspace, query, …)`` reads, ``connections.run(workspace, work)`` writes in one
transaction. Every transaction enters a workspace first, and the server's row-level security hides the rows of
all others.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from clew.errors import (
    ClewError,
    DiskFailed,
    InputError,
    MissingExtra,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreUnreachable,
    StoreUnwritable,
)
from clew.log.store.database import Migration, migrations, pending_migrations, statements

try:
    import psycopg
    import psycopg_pool
    from psycopg.conninfo import conninfo_to_dict
except ImportError as cause:
    raise MissingExtra("clew[postgres]") from cause

PACKAGE = "clew.log.store.postgres"
"""Where the migrations and statements are."""
LOCK = 0x636C6577  # "clew": the advisory lock that one migrating process holds
RETRY_S = 0.05
"""The wait before work is tried again on another connection; chosen by hand."""
UniqueViolation = psycopg.errors.UniqueViolation
Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
Rows: TypeAlias = list[tuple[Any, ...]]
T = TypeVar("T")


class SqlQuery(NamedTuple):
    """A statement and its values."""

    statement: bytes
    values: Mapping[str, Any]


_ERRORS: tuple[tuple[type[psycopg.Error], type[ClewError]], ...] = (
    (psycopg.errors.LockNotAvailable, StoreBusy),
    (psycopg.errors.DiskFull, StoreFull),
    (psycopg.errors.IoError, DiskFailed),
    (psycopg.errors.InsufficientPrivilege, StoreUnwritable),
    (psycopg.errors.ReadOnlySqlTransaction, StoreUnwritable),
    (psycopg.errors.DataCorrupted, StoreDamaged),
    (psycopg.errors.IndexCorrupted, StoreDamaged),
)
_CONFLICTS = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.ForeignKeyViolation,  # a blob was forgotten while an append started to use it
)
"""Errors after which a transaction is tried again."""
_ENDED = (
    psycopg.errors.AdminShutdown,
    psycopg.errors.CrashShutdown,
    psycopg.errors.CannotConnectNow,
    psycopg.errors.IdleInTransactionSessionTimeout,
    psycopg_pool.PoolTimeout,
)
"""Errors after which the connection cannot be used any more."""


@cache
def sql(name: str, package: str = PACKAGE, file: str = "statements.sql") -> bytes:
    """Return a statement by its name."""
    return statements(file, package)[name].encode()


class Connections:
    """Runs transactions on pooled connections. Share one between threads; a fork opens its own pool.

    A transaction that lost its connection is run again until ``busy_s`` has passed, as is one that the server
    ended because of a conflict. Transactions wait for locks up to ``busy_s``. The server ends one whose
    client is silent for half of that, so a paused process does not block the others.
    """

    def __init__(self, address: str, schema: str, busy_s: float, size: int) -> None:
        if not re.fullmatch("[a-z_][a-z0-9_]{0,62}", schema):
            raise InputError(f"schema {schema!r} is not a plain lower-case name")
        self.name = describe(address)
        self._address = address
        self._schema = schema
        self._busy_s = busy_s
        self._size = size
        self._lock = threading.Lock()
        self._pool: psycopg_pool.ConnectionPool[Connection] | None = None
        self._pid = 0
        self._closed = False
        wait = max(1, int(busy_s))
        with (
            self._translate_errors(),
            psycopg.connect(address, autocommit=True, connect_timeout=wait) as connection,
        ):
            _migrate(connection, schema)
            self.isolated = _check_role(connection)

    def close(self) -> None:
        """Close the pool."""
        with self._lock:
            self._closed = True
            if self._pool is not None and self._pid == os.getpid():
                self._pool.close()

    def fetch(self, workspace: str, *queries: SqlQuery) -> list[Rows]:
        """Run queries in one transaction and one round trip; return the rows of each."""

        def work(connection: Connection, _retrying: bool) -> list[Rows]:
            with connection.pipeline():  # to the server this is one transaction
                connection.execute(*self._enter(workspace))
                cursors = [connection.execute(*query) for query in queries]
            return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

        return self._retry(work)

    def run(self, workspace: str, work: Callable[[Connection, bool], T]) -> T:
        """Run ``work`` in one transaction and return its result.

        Its second argument is True if it may have committed before: an earlier try lost its connection.
        """
        return self.run_after(workspace, None, lambda connection, retrying, _rows: work(connection, retrying))

    def run_after(
        self, workspace: str, first: SqlQuery | None, work: Callable[[Connection, bool, Rows], T]
    ) -> T:
        """Run ``work`` in one transaction that begins with a query, whose rows it is given.

        All until ``work`` is called is one round trip. ``work`` may end the transaction itself.
        """

        def attempt(connection: Connection, retrying: bool) -> T:
            with self._transaction(connection, workspace, first) as rows:
                return work(connection, retrying, rows)

        return self._retry(attempt)

    def _retry(self, work: Callable[[Connection, bool], T]) -> T:
        """Run ``work`` again after a conflict or a lost connection, until ``busy_s`` has passed."""
        deadline = time.monotonic() + self._busy_s
        tried = False
        retrying = False  # after a lost connection only: a conflict is known to have committed nothing
        while True:
            try:
                with self._open_pool().connection(max(0.1, deadline - time.monotonic())) as connection:
                    return work(connection, retrying)
            except UniqueViolation:
                raise  # only an append can cause it, and knows what it means
            except psycopg.Error as cause:
                ended = _is_lost(cause)
                # Tried again at least once: a process that was paused finds its deadline passed.
                if not (ended or isinstance(cause, _CONFLICTS)) or (tried and time.monotonic() > deadline):
                    raise self._error(cause) from cause
                retrying, tried = retrying or ended, True
                time.sleep(RETRY_S)

    @contextmanager
    def _transaction(self, connection: Connection, workspace: str, first: SqlQuery | None) -> Iterator[Rows]:
        """Begin a transaction in a workspace, with a first query; commit or roll back at the end."""
        enter = self._enter(workspace)
        queries = [SqlQuery(sql("begin"), {}), enter, *([first] if first else [])]
        values = {name: value for query in queries for name, value in query.values.items()}
        # One message with several statements, not a pipeline: at the end of a pipeline the driver sends a
        # flush, and after that the server does not end the transaction of a silent client.
        try:
            with psycopg.ClientCursor(connection) as cursor:
                cursor.execute(b";".join(query.statement for query in queries), values)
                while cursor.nextset():
                    continue
                rows = cursor.fetchall()
            yield rows
            connection.commit()  # does nothing if the transaction has ended
        except BaseException:
            with suppress(psycopg.Error):  # the connection is lost, and with it the transaction
                connection.rollback()
            raise

    def _enter(self, workspace: str) -> SqlQuery:
        busy_ms = str(int(self._busy_s * 1000))
        return SqlQuery(sql("enter"), {"schema": self._schema, "workspace": workspace, "busy": busy_ms})

    def _open_pool(self) -> psycopg_pool.ConnectionPool[Connection]:
        """Return the pool of this process; after a fork, a new one."""
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.name} was closed")
            if self._pool is None or self._pid != os.getpid():
                if self._pool is not None:
                    _abandoned.append(self._pool)  # the parent's: closing it would end the parent's sessions
                options = {"autocommit": True}
                self._pool = psycopg_pool.ConnectionPool(
                    self._address,
                    min_size=0,
                    max_size=self._size,
                    kwargs=options,
                    configure=self._limit_silence,
                    open=True,
                )
                self._pid = os.getpid()
            return self._pool

    def _limit_silence(self, connection: Connection) -> None:
        # For the connection, once; the server does not apply it between two statements of one pipeline.
        connection.execute(sql("limit_silence"), {"silent": str(int(self._busy_s * 500))})

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as cause:
            raise self._error(cause) from cause

    def _error(self, cause: psycopg.Error) -> ClewError:
        text = " ".join(str(cause).split()) or type(cause).__name__
        error_types = (ours for theirs, ours in _ERRORS if isinstance(cause, theirs))
        error_type = next(error_types, StoreUnreachable if _is_lost(cause) else StoreError)
        return error_type(f"{self.name}: {text}")


_abandoned: list[object] = []


def _is_lost(cause: psycopg.Error) -> bool:
    """Return True if the connection was lost or could not be made, rather than a statement refused."""
    if isinstance(cause, _ENDED):
        return True
    return isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError) and cause.sqlstate is None


def describe(address: str) -> str:
    """Return an address without its password, for messages."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.Error as cause:
        raise InputError(f"this is not a PostgreSQL address ({' '.join(str(cause).split())})") from cause
    host = parts.get("host") or "local socket"
    return f"PostgreSQL database {parts.get('dbname') or 'of the user'!r} on {host}"


def _check_role(connection: Connection) -> bool:
    """Return True if row-level security applies to the role of this connection."""
    row = connection.execute(sql("role")).fetchone()
    if row is None:
        return False
    if row[1] != "UTF8":
        raise StoreError(f"the database has the encoding {row[1]}; create it with ENCODING 'UTF8'")
    return bool(row[0])


def _migrate(
    connection: Connection, schema: str, known_migrations: Sequence[Migration] | None = None
) -> None:
    """Run the migrations that the schema has not had yet, all or none, one process at a time."""
    known_migrations = migrations(PACKAGE) if known_migrations is None else known_migrations
    entered = {"schema": schema, "workspace": "", "busy": "0"}
    with connection.transaction():
        connection.execute(sql("enter"), entered)
        if not _pending(connection, known_migrations):
            return
    with connection.transaction():
        connection.execute(sql("enter"), entered)
        connection.execute(sql("lock_migrations"), {"lock": LOCK})
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
        if not _has_migrations(connection):
            connection.execute(sql("create_migrations"))
        for migration in _pending(connection, known_migrations):
            connection.execute(migration.text.encode())
            row = {"version": migration.version, "name": migration.name, "checksum": migration.checksum}
            connection.execute(sql("record_migration"), row)


def _pending(connection: Connection, known_migrations: Sequence[Migration]) -> Sequence[Migration]:
    if not _has_migrations(connection):
        return known_migrations
    seen = connection.execute(sql("migrations")).fetchall()
    return pending_migrations([(row[0], row[1], row[2]) for row in seen], known_migrations)


def _has_migrations(connection: Connection) -> bool:
    row = connection.execute(sql("has_migrations")).fetchone()
    return bool(row and row[0])
