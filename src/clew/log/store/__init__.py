"""Stores for the log: a SQLite file, or memory. See README.md."""

from clew.log.store.memory import MemoryStore
from clew.log.store.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore"]
