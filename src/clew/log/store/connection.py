"""Open a SQLite file with durable settings, and translate SQLite's errors into clew's."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.errors import (
    ClewError,
    DiskFailed,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreUnwritable,
    UnsafeFileSystem,
)
from clew.log.store.checkpoint import LIMIT_BYTES

SHORT_WAIT_MS = 20
APPLICATION_ID = 0x636C6577  # "clew": identifies the file to `file` and other tools

_ERRORS: dict[int, type[ClewError]] = {
    sqlite3.SQLITE_BUSY: StoreBusy,
    sqlite3.SQLITE_LOCKED: StoreBusy,
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_IOERR: DiskFailed,
    sqlite3.SQLITE_READONLY: StoreUnwritable,
    sqlite3.SQLITE_PERM: StoreUnwritable,
    sqlite3.SQLITE_CANTOPEN: StoreUnwritable,
    sqlite3.SQLITE_CORRUPT: StoreDamaged,
    sqlite3.SQLITE_NOTADB: StoreDamaged,
}


UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading a damaged file raises; the second if SQLite's own message quotes damaged text."""


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate SQLite's errors into clew's, which say what to do."""
    try:
        yield
    except sqlite3.Error as cause:
        raise _error(cause)(f"{path}: {cause}") from cause
    except UnicodeDecodeError as cause:
        raise StoreDamaged(f"{path}: damaged, and SQLite's error message is not valid text") from cause
    except OSError as cause:
        full = cause.errno in (errno.ENOSPC, errno.EDQUOT)
        raise (StoreFull if full else StoreUnwritable)(f"{path}: {cause.strerror}") from cause


def _error(cause: sqlite3.Error) -> type[ClewError]:
    code = getattr(cause, "sqlite_errorcode", None)
    if code is None and isinstance(cause, sqlite3.OperationalError):
        return StoreDamaged  # raised by Python: a text that is not UTF-8
    return _ERRORS.get((code or 0) & 0xFF, StoreError)


def create_private(path: Path) -> None:
    """Create the file if it is missing, for its owner only; SQLite's side files get the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    if os.name == "posix":
        # Without this, a power cut could lose the directory entry, and with it acknowledged data.
        directory = os.open(path.parent, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)


def connect(path: Path, busy_s: float, exclusive: bool) -> sqlite3.Connection:
    """Open the file: durable, shared through the write-ahead log or used exclusively."""
    # One connection serves all threads: the store locks around it.
    database = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    try:
        _set_up(database, exclusive)
    except BaseException:
        database.close()
        raise
    return database


def _set_up(database: sqlite3.Connection, exclusive: bool) -> None:
    if exclusive:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
    wanted = "delete" if exclusive else "wal"
    (mode,) = database.execute(f"PRAGMA journal_mode = {wanted}").fetchone()
    if mode != wanted:
        raise UnsafeFileSystem(f"SQLite offers journal mode {mode!r} only")
    for pragma in _PRAGMAS:
        database.execute(f"PRAGMA {pragma}")
    if exclusive:
        database.execute("BEGIN EXCLUSIVE")  # take the lock now; this mode keeps it
        database.execute("COMMIT")


def begin(database: sqlite3.Connection, busy_s: float) -> None:
    """Begin a write transaction, waiting for other writers up to ``busy_s``.

    SQLite retries after 1 ms, then less and less often, so under contention the longest waiter starves. Many
    short waits keep every process retrying often.
    """
    deadline = time.monotonic() + busy_s
    database.execute(f"PRAGMA busy_timeout = {SHORT_WAIT_MS}")
    try:
        while not _began(database, deadline):
            pass
    finally:
        database.execute(f"PRAGMA busy_timeout = {int(busy_s * 1000)}")


def _began(database: sqlite3.Connection, deadline: float) -> bool:
    try:
        database.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as cause:
        if cause.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
            raise
        return False
    return True


_PRAGMAS = (
    "synchronous = FULL",  # acknowledged data survives a power cut
    "fullfsync = ON",  # the same on macOS, where fsync alone is not enough
    "checkpoint_fullfsync = ON",
    "foreign_keys = ON",
    "trusted_schema = OFF",
    "wal_autocheckpoint = 0",  # see checkpoint.py
    f"journal_size_limit = {LIMIT_BYTES}",
)


def connect_read_only(path: Path, at_rest: bool) -> sqlite3.Connection:
    """Open the file read-only.

    With ``at_rest`` (no other process has it open), SQLite does not create its shared-memory file either.
    """
    how = "mode=ro&immutable=1" if at_rest else "mode=ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=10)
