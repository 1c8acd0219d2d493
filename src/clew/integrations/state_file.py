"""Compaction states in a SQLite file, for frameworks that store nothing but messages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from clew.message import JsonObject

_TABLE = "CREATE TABLE IF NOT EXISTS clew_state (session_id TEXT PRIMARY KEY, state TEXT NOT NULL)"


class StateFile:
    """Stores the state of each conversation; an error is reported, and nothing is stored or restored."""

    def __init__(self, path: str | Path, report: Callable[[Exception], None]) -> None:
        """Use a SQLite file, which other tables may share; ``:memory:`` stores nothing."""
        self._path = None if str(path) == ":memory:" else path
        self._report = report

    def save(self, session_id: str, state: JsonObject | None) -> None:
        """Store a state; None removes it."""
        statement = "INSERT OR REPLACE INTO clew_state VALUES (?, ?)"
        self._execute(statement, (session_id, json.dumps(state)))

    def load(self, session_id: str) -> dict[str, Any] | None:
        """Return the state that this or another process stored."""
        row = self._execute("SELECT state FROM clew_state WHERE session_id = ?", (session_id,))
        state: dict[str, Any] | None = json.loads(row[0]) if row else None
        return state

    def _execute(self, statement: str, values: tuple[str, ...]) -> Any:  # noqa: ANN401  # a row, or None
        if self._path is None:
            return None
        try:
            with closing(sqlite3.connect(self._path)) as connection, connection:
                connection.execute(_TABLE)
                return connection.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            self._report(error)
            return None
