"""Copy the write-ahead log into the database while no one else can write.

SQLite before 3.51.3 (3.50.7 and 3.44.6 have the fix too) may lose committed transactions if one connection
checkpoints while another restarts the log: sqlite.org/wal.html, "The WAL-Reset Bug". Most Pythons ship such a
version. Automatic checkpoints are therefore off, and ours hold the write lock throughout.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

LIMIT_BYTES = 4 << 20
"""SQLite truncates the log to this size when it restarts; above it, a checkpoint is due. 4 MB is SQLite's own
default of 1,000 pages."""


class Checkpoints:
    """Decides when the log of a file must be copied, and copies it."""

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
