"""Moving the write-ahead log into the database, while nobody else can write.

SQLite before 3.51.3 (3.50.7 and 3.44.6 have the fix too) may lose committed transactions when one connection
checkpoints while another begins the log anew: sqlite.org/wal.html, "The WAL-Reset Bug". Most Pythons come
with such a version. So automatic checkpoints are off, and ours hold the write lock from start to end.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

LIMIT_BYTES = 4 << 20
"""SQLite cuts the log back to this size when it begins anew; beyond it, a checkpoint is due."""


class Checkpoints:
    """Knows when a file's log should be moved, and moves it."""

    def __init__(self, path: Path) -> None:
        self._log = path.with_name(f"{path.name}-wal")
        self._path = path
        self._due_bytes = LIMIT_BYTES

    def run_if_due(self, connection: sqlite3.Connection) -> None:
        """Checkpoint if the log has grown; ``connection`` must be between two transactions.

        Whatever hinders it, the next append tries again: what was committed is safe in the log.
        """
        size = self._log_bytes()
        if size <= LIMIT_BYTES:
            self._due_bytes = LIMIT_BYTES
        elif size > self._due_bytes:
            # While a reader holds on to old pages the log cannot begin anew; do not try at every append.
            self._due_bytes = size + LIMIT_BYTES // 4
            try:
                self._run(connection)
            except sqlite3.Error:
                return

    def _log_bytes(self) -> int:
        # Only ask for the size: to open and close SQLite's files would drop its locks on them.
        try:
            return self._log.stat().st_size
        except FileNotFoundError:
            return 0

    def _run(self, connection: sqlite3.Connection) -> None:
        with closing(sqlite3.connect(self._path, timeout=0)) as other:
            connection.execute("BEGIN IMMEDIATE")
            try:
                other.execute("PRAGMA synchronous = FULL")
                other.execute("PRAGMA fullfsync = ON")
                other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            finally:
                connection.execute("ROLLBACK")
