"""Stores for tests: opened here, closed afterwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clew.log.store import SqliteStore


@pytest.fixture
def tmp_path(quick_folder: Path) -> Path:
    """Return a folder in memory: these tests sync thousands of times, and none is about the disk itself."""
    return quick_folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "private" / "clew.db"


@pytest.fixture
def open_sqlite(path: Path) -> Iterator[Callable[..., SqliteStore]]:
    with ExitStack() as opened:
        yield lambda **settings: opened.enter_context(SqliteStore(path, **settings))


def connection_of(store: SqliteStore) -> sqlite3.Connection:
    """Return the store's own connection, to make it fail on purpose."""
    with store._database.reading() as connection:
        return connection
