"""One SQLite file with its statements and migrations, shared by threads and safe across forks.

``with database.writing() as connection: …`` is one transaction; ``statements()["add_event"]`` is the SQL
below the line ``-- add_event: …`` of ``statements.sql``.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from clew.errors import StoreDamaged, StoreError, StoreTooNew
from clew.log import digest
from clew.log.store.connection import (
    APPLICATION_ID,
    Checkpoints,
    begin,
    connect,
    create_private,
    translate_errors,
)

_HEADER = re.compile(r"^-- (\w+): .*$", re.MULTILINE)
"""The line above a statement: "-- add_event: …"."""


@cache
def statements(file: str = "statements.sql", package: str = "clew.log.store") -> dict[str, str]:
    """Return every statement of a file by its name."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    _, *pieces = _HEADER.split(text)
    return {name: sql.strip() for name, sql in zip(pieces[::2], pieces[1::2], strict=True)}


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step of the schema."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """Return the hash of its text: a released migration never changes."""
        return digest(self.text.encode())

    def steps(self) -> Iterator[str]:
        """Yield its SQL statements."""
        step = ""
        for line in self.text.splitlines(keepends=True):
            step += line
            if sqlite3.complete_statement(step):
                yield step
                step = ""


@cache
def migrations(package: str = "clew.log.store") -> tuple[Migration, ...]:
    """Return every migration of a package, oldest first."""
    found = []
    for file in files(package).joinpath("migrations").iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.version))


def migrate(database: sqlite3.Connection, known_migrations: Sequence[Migration] | None = None) -> None:
    """Run the migrations that the file has not had yet, all or none."""
    known_migrations = migrations() if known_migrations is None else known_migrations
    if not _pending(database, known_migrations):
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        # Checked again: another process may have migrated since.
        for migration in _pending(database, known_migrations):
            for step in migration.steps():
                database.execute(step)
            row = {"version": migration.version, "name": migration.name, "checksum": migration.checksum}
            database.execute(statements()["record_migration"], row)
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


def _pending(database: sqlite3.Connection, known_migrations: Sequence[Migration]) -> Sequence[Migration]:
    names = {name for _, name, *_ in database.execute(statements()["schema"])}
    if not names:
        return known_migrations
    if "migration" not in names:
        raise StoreError("this SQLite file belongs to another program")
    return pending_migrations(database.execute(statements()["migrations"]).fetchall(), known_migrations)


def pending_migrations(
    seen: Sequence[tuple[int, str, str]], known_migrations: Sequence[Migration]
) -> Sequence[Migration]:
    """Return the migrations that a store with the rows ``seen`` still needs."""
    if len(seen) > len(known_migrations):
        raise StoreTooNew(
            f"the store has schema {seen[-1][0]}, this clew knows {known_migrations[-1].version}"
        )
    for row, migration in zip(seen, known_migrations, strict=False):
        if row != (migration.version, migration.name, migration.checksum):
            raise StoreDamaged(f"migration {row[0]} ({row[1]}) of this store is not the one that clew ships")
    return known_migrations[len(seen) :]


class Database:
    """Lends the file's only connection to one thread at a time, and reopens it if necessary."""

    def __init__(self, path: Path, busy_s: float, exclusive: bool) -> None:
        self.path = path
        self._busy_s = busy_s
        self._exclusive = exclusive
        self._closed = False
        self._checkpoints = Checkpoints(path)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        _databases.add(self)
        with translate_errors(path):
            create_private(path)
        with self.reading():
            pass  # so that a problem with the file is reported now

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._closed = True
            self._drop()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection. Its errors are raised as clew's own."""
        with self._lock, translate_errors(self.path):
            if self._closed:
                raise StoreError(f"{self.path} was closed")
            if self._connection is None:
                self._connection = self._open()
            yield self._connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection inside a transaction, which commits everything or nothing."""
        with self.reading() as connection:
            try:
                begin(connection, self._busy_s)
                if not self._exclusive and self._checkpoints.due:
                    self._checkpoints.run()
                    connection.execute("ROLLBACK")  # the log restarts with the next transaction only
                    begin(connection, self._busy_s)
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    self._roll_back(connection)

    def _open(self) -> sqlite3.Connection:
        connection = connect(self.path, self._busy_s, self._exclusive)
        try:
            migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._drop()  # closing rolls back too; the next caller gets a new connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _leave_to_parent(self) -> None:
        """Forget the parent's connection: after a fork SQLite allows neither using nor closing it."""
        if self._connection is not None:
            _abandoned.append(self._connection)
            self._connection = None
        self._lock = threading.Lock()  # its holder exists only in the parent


_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_abandoned: list[sqlite3.Connection] = []


def _after_fork() -> None:
    for database in _databases:
        database._leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
