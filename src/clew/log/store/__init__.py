"""Stores for the log: a SQLite file, a PostgreSQL server, or memory. See README.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clew.log.store.memory import MemoryStore
from clew.log.store.sqlite import SqliteStore
from clew.settings import NetworkDisk, is_server_address

if TYPE_CHECKING:
    from clew.log.store.postgres import PostgresStore

__all__ = ["MemoryStore", "SqliteStore", "open_store"]


def open_store(address: str | Path, network: NetworkDisk = NetworkDisk.REFUSE) -> SqliteStore | PostgresStore:
    """Open the store at an address: ``postgresql://…``, or the path of a SQLite file."""
    if isinstance(address, str) and is_server_address(address):
        from clew.log.store.postgres import PostgresStore  # needs the extra

        return PostgresStore(address)
    return SqliteStore(address, network=network)
