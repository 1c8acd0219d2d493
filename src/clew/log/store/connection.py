"""Open a SQLite file with durable settings: network disks, checkpoints, locks, translated errors.

Used by ``database.py``, which shares one connection between threads, and by ``audit.py``, which only reads.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

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

MOUNTS = Path("/proc/self/mounts")
"""Where Linux lists mounted disks."""

NETWORK = frozenset(
    (
        *("9p", "drvfs"),  # how WSL mounts Windows drives
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "coda", "ncpfs", "davfs"),
        *("beegfs", "ceph", "glusterfs", "gpfs", "lustre", "orangefs"),
        *("prl_fs", "vboxsf", "virtiofs", "vmhgfs"),  # a host's disk mounted in its guest
        *("fuse.ceph", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.juicefs"),
        *("fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse"),
    )
)
"""Types of file systems shared between machines, or between a machine and its guest. They have neither the
shared memory nor the locks that SQLite's write-ahead log needs, and fail silently under load."""


class Mount(NamedTuple):
    """One line of the mount table."""

    point: str
    type: str


def read_mounts(table: Path = MOUNTS) -> list[Mount]:
    """Return the mount table; empty if the system has no readable one (macOS, Windows)."""
    try:
        text = table.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    return [
        Mount(_plain(fields[1]), fields[2])
        for line in text.splitlines()
        if len(fields := line.split(" ")) > 2
    ]


def _plain(field: str) -> str:
    """Decode the octal escapes that the kernel writes for spaces."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def network_type(path: Path, mounts: Iterable[Mount]) -> str | None:
    """Return the type of the network file system that the path is on; None if it is local."""
    if str(path).startswith(("\\\\", "//")):
        return "a Windows share"
    real = path.resolve()
    best: Mount | None = None
    for mount in mounts:
        deeper = best is None or len(mount.point) >= len(best.point)  # of equals, the later is mounted on top
        if deeper and real.is_relative_to(mount.point):
            best = mount
    return best.type if best and best.type in NETWORK else None


LIMIT_BYTES = 4 << 20
"""SQLite truncates the log to this size when it restarts; above it, a checkpoint is due. 4 MB is SQLite's own
default of 1,000 pages."""


class Checkpoints:
    """Copies the write-ahead log into the database while no other process can write.

    SQLite before 3.51.3 (3.50.7 and 3.44.6 have the fix too) may lose committed transactions if one
    connection checkpoints while another restarts the log: sqlite.org/wal.html, "The WAL-Reset Bug". Most
    Pythons ship such a version. Automatic checkpoints are therefore off, and ours hold the write lock.
    """

    def __init__(self, path: Path) -> None:
        self._log = path.with_name(f"{path.name}-wal")
        self._path = path
        self._due_bytes = LIMIT_BYTES

    @property
    def due(self) -> bool:
        """Return True if the log has grown enough."""
        size = self._log_bytes()
        if size <= LIMIT_BYTES:
            self._due_bytes = LIMIT_BYTES
        return size > self._due_bytes

    def run(self) -> None:
        """Checkpoint. The caller holds the write lock, has not written, and releases the lock afterwards.

        If it fails, a later append tries again: committed data is safe in the log. While a reader uses old
        pages the log cannot restart, so not every append tries.
        """
        self._due_bytes = self._log_bytes() + LIMIT_BYTES // 4
        with suppress(sqlite3.Error):
            self._run()

    def _log_bytes(self) -> int:
        # Only stat the file: opening and closing it would drop SQLite's locks on it.
        try:
            return self._log.stat().st_size
        except FileNotFoundError:
            return 0

    def _run(self) -> None:
        # From a second connection: SQLite refuses to checkpoint inside a transaction.
        address = f"{self._path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=0)) as other:
            other.execute("PRAGMA synchronous = FULL")
            other.execute("PRAGMA checkpoint_fullfsync = ON")
            other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


SHORT_WAIT_MS = 20
"""One wait of SQLite for a lock, which ``_wait_for_lock`` repeats; chosen by hand."""
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
def translate_errors(path: Path) -> Iterator[None]:
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
        _set_up(database, busy_s, exclusive)
    except BaseException:
        database.close()
        raise
    return database


def _set_up(database: sqlite3.Connection, busy_s: float, exclusive: bool) -> None:
    if exclusive:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
    wanted = "delete" if exclusive else "wal"
    (mode,) = _wait_for_lock(database, f"PRAGMA journal_mode = {wanted}", busy_s).fetchone()
    if mode != wanted:
        raise UnsafeFileSystem(f"SQLite offers journal mode {mode!r} only")
    for pragma in _PRAGMAS:
        database.execute(f"PRAGMA {pragma}")
    if exclusive:
        database.execute("BEGIN EXCLUSIVE")  # take the lock now; this mode keeps it
        database.execute("COMMIT")


def begin(database: sqlite3.Connection, busy_s: float) -> None:
    """Begin a write transaction, waiting for other writers up to ``busy_s``."""
    _wait_for_lock(database, "BEGIN IMMEDIATE", busy_s)


def _wait_for_lock(database: sqlite3.Connection, statement: str, busy_s: float) -> sqlite3.Cursor:
    """Execute a statement as soon as its lock is free, within ``busy_s``.

    SQLite retries after 1 ms, then less and less often, so under contention the longest waiter starves; and
    it does not wait at all to change the journal mode. Many short waits keep every process retrying often.
    """
    deadline = time.monotonic() + busy_s
    database.execute(f"PRAGMA busy_timeout = {SHORT_WAIT_MS}")
    try:
        while True:
            try:
                return database.execute(statement)
            except sqlite3.OperationalError as cause:
                code = getattr(cause, "sqlite_errorcode", 0)  # missing if Python raised the error itself
                if code & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.001)
    finally:
        database.execute(f"PRAGMA busy_timeout = {int(busy_s * 1000)}")


_PRAGMAS = (
    "synchronous = FULL",  # acknowledged data survives a power cut
    "fullfsync = ON",  # the same on macOS, where fsync alone is not enough
    "checkpoint_fullfsync = ON",
    "foreign_keys = ON",
    "trusted_schema = OFF",
    "wal_autocheckpoint = 0",  # see Checkpoints
    f"journal_size_limit = {LIMIT_BYTES}",
)
"""Settings of every connection."""


def connect_read_only(path: Path, at_rest: bool) -> sqlite3.Connection:
    """Open the file read-only.

    With ``at_rest`` (no other process has it open), SQLite does not create its shared-memory file either.
    """
    how = "mode=ro&immutable=1" if at_rest else "mode=ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=10)
