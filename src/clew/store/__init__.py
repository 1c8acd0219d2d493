"""Where the log lies: SQLite on disk, or memory. See README.md."""

from clew.store.memory import MemoryStore
from clew.store.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore"]
