"""Moving the write-ahead log into the database, while nobody else can write.

SQLite before 3.51.3 (3.50.7 and 3.44.6 have the fix too) may lose committed transactions when one connection
checkpoints while another begins the log anew: sqlite.org/wal.html, "The WAL-Reset Bug". Most Pythons come
with such a version. So automatic checkpoints are off, and ours hold the write lock from start to end.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

LIMIT_BYTES = 4 << 20
"""SQLite cuts the log back to this size when it begins anew; beyond it, a checkpoint is due."""


class Checkpoints:
    """Knows when a file's log should be moved, and moves it."""

    def __init__(self, path: Path) -> None:
        self._log = path.with_name(f"{path.name}-wal")
        self._path = path
        self._due_bytes = LIMIT_BYTES

    @property
    def due(self) -> bool:
        """Tell whether the log has grown enough."""
        size = self._log_bytes()
        if size <= LIMIT_BYTES:
            self._due_bytes = LIMIT_BYTES
        return size > self._due_bytes

    def run(self) -> None:
        """Checkpoint. The caller holds the write lock, has not written, and lets go of the lock afterwards.

        Whatever hinders it, a later append tries again: what was committed is safe in the log. While a
        reader holds on to old pages the log cannot begin anew, so not every append tries.
        """
        self._due_bytes = self._log_bytes() + LIMIT_BYTES // 4
        with suppress(sqlite3.Error):
            self._run()

    def _log_bytes(self) -> int:
        # Only ask for the size: to open and close SQLite's files would drop its locks on them.
        try:
            return self._log.stat().st_size
        except FileNotFoundError:
            return 0

    def _run(self) -> None:
        # From a second connection: SQLite refuses to checkpoint from one that is inside a transaction.
        address = f"{self._path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=0)) as other:
            other.execute("PRAGMA synchronous = FULL")
            other.execute("PRAGMA checkpoint_fullfsync = ON")
            other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
