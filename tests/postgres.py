"""A PostgreSQL server for the tests of one process, and a fresh schema for each of them."""

from __future__ import annotations

import atexit
import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clew.errors import ClewError
from clew.log.store import SqliteStore
from clew.memory.index.sqlite import SqliteIndex
from clew.testing.postgres import PostgresServer

if TYPE_CHECKING:
    from clew.log.store.postgres import PostgresStore
    from clew.memory.index.postgres import PostgresIndex

_numbers = itertools.count()


@cache
def _started() -> PostgresServer | str:
    try:
        server = PostgresServer(durable=False)
    except (ClewError, ImportError) as cause:
        return str(cause)
    atexit.register(server.close)
    return server


def the_server() -> PostgresServer:
    """Return the server, or skip the test if none can be had."""
    server = _started()
    if isinstance(server, str):
        pytest.skip(f"no PostgreSQL server: {server}")
    return server


def new_schema() -> str:
    """Return the name of a schema that no other test uses."""
    return f"test_{os.getpid()}_{next(_numbers)}"


class Place:
    """Where a test keeps sessions: a store and its index, in SQLite or in PostgreSQL."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._opened = ExitStack()
        self._path = folder / "clew.db"
        self._store: SqliteStore | PostgresStore | None = None
        if kind == "postgres":
            pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: clew[postgres]")
            from clew.log.store.postgres import PostgresStore

            store = PostgresStore(the_server().address, schema=new_schema())
            self._store = self._opened.enter_context(store)

    @property
    def store(self) -> SqliteStore | PostgresStore:
        """Return the store, opened."""
        if self._store is None:
            self._store = self._opened.enter_context(SqliteStore(self._path))
        return self._store

    def index(self, model: str | None = None, workspace: str = "north") -> SqliteIndex | PostgresIndex:
        """Return an index on the store."""
        if self._store is None or isinstance(self._store, SqliteStore):
            return self._opened.enter_context(SqliteIndex(self._path, model=model))
        from clew.memory.index.postgres import PostgresIndex

        return PostgresIndex(self._store.connections, workspace, model)

    def close(self) -> None:
        """Close everything that was opened here."""
        self._opened.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Run a test on both; import it to use it."""
    with closing(Place(request.param, tmp_path)) as found:
        yield found
