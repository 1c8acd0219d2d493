"""Stores for the log: a SQLite file, or memory. See README.md."""

from clew.store.memory import MemoryStore
from clew.store.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore"]
