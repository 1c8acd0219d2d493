"""One SQLite file, shared by the threads of a process and safe across forks."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.errors import StoreError
from clew.log.store.checkpoint import Checkpoints
from clew.log.store.connection import begin, connect, create_private, translated
from clew.log.store.migrate import migrate


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
        with translated(path):
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
        with self._lock, translated(self.path):
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
