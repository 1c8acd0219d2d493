"""Read SQLite files of other tools: read-only, row by row, with limits; damage is reported.

``with open_database(source) as connection: rows(connection, "SELECT * FROM sessions")`` yields one object per
row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import wraps
from itertools import count
from typing import TYPE_CHECKING

from clew.message import Json, JsonObject
from clew.transcripts.fields import value_of
from clew.transcripts.records import Problem, Record
from clew.transcripts.source import Source

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

_MAGIC = b"SQLite format 3\0"
_MAX_VALUE_BYTES = 256 << 20
_TICK_STEPS = 1_000_000
_MAX_TICKS = 1_000
"""A query may run for this many ticks of SQLite's virtual machine, about half a minute: no session takes that
long."""


@contextmanager
def open_database(source: Source) -> Iterator[sqlite3.Connection]:
    """Open a database read-only.

    A running tool keeps its newest rows in a write-ahead log next to the file: it is read too, unless the
    folder is not writable, so that SQLite cannot share the log.
    """
    import sqlite3

    source.keep()
    with source.on_disk() as path, closing(_connect(path)) as connection:
        connection.text_factory = lambda data: data.decode(errors="replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        connection.execute("PRAGMA trusted_schema = OFF")  # a schema must not run functions on our behalf
        connection.set_authorizer(_without_views)
        yield connection


def _without_views(
    _action: int, _first: str | None, _second: str | None, _database: str | None, view: str | None
) -> int:
    """Deny access through a view: a view may compute anything, without end."""
    import sqlite3

    return sqlite3.SQLITE_OK if view is None else sqlite3.SQLITE_DENY


def _connect(path: Path) -> sqlite3.Connection:
    import sqlite3

    address = path.resolve().as_uri()
    connection = sqlite3.connect(f"{address}?mode=ro", uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        return sqlite3.connect(f"{address}?immutable=1", uri=True)
    except database_errors():
        pass  # reported when the rows are read
    return connection


def database_errors() -> tuple[type[Exception], ...]:
    """Return what SQLite raises for a damaged file.

    In addition to its own errors: its message may quote bytes that are not text, and a size that the file
    claims may exceed the memory.
    """
    import sqlite3

    return sqlite3.Error, UnicodeDecodeError, MemoryError


def has_tables(source: Source, tables: dict[str, Sequence[str]]) -> bool:
    """Return True if a source is a database with these tables and columns."""
    if source.is_directory or source.peek(len(_MAGIC)) != _MAGIC:
        return False
    try:
        with open_database(source) as connection:
            return all(set(columns) <= columns_of(connection, table) for table, columns in tables.items())
    except database_errors():
        return False


def columns_of(connection: sqlite3.Connection, table: str) -> set[str]:
    """Return the columns of a table; an empty set if it does not exist or is a view."""
    query = "SELECT type FROM sqlite_master WHERE name = ?"
    if [kind for (kind,) in connection.execute(query, (table,))] != ["table"]:
        return set()
    return {row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def rows(connection: sqlite3.Connection, query: str, values: Sequence[str] = ()) -> Iterator[JsonObject]:
    """Yield each row as an object of column names; an endless query ends with an error."""
    ticks = count(1)
    connection.set_progress_handler(lambda: next(ticks) > _MAX_TICKS, _TICK_STEPS)
    cursor = connection.execute(query, tuple(values))
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield {
            name: None if isinstance(value, bytes) else value for name, value in zip(names, row, strict=True)
        }


def sessions(connection: sqlite3.Connection, query: str, source: Source) -> list[JsonObject]:
    """Return the session rows of a source: all, or the one that the source names."""
    all_rows = rows(connection, query)
    return [row for row in all_rows if source.session is None or str(row.get("id")) == source.session]


def reports_damage(read: Callable[[Source], Iterator[Record]]) -> Callable[[Source], Iterator[Record]]:
    """Make a reader end with a ``Problem`` if the database turns out to be damaged."""

    @wraps(read)
    def reader(source: Source) -> Iterator[Record]:
        try:
            yield from read(source)
        except database_errors() as cause:
            yield Problem(f"the database cannot be read further: {cause}")

    return reader


def decode_column(row: JsonObject, column: str) -> tuple[Json, list[Problem]]:
    """Decode the JSON in a column; return its value, and what is wrong with it."""
    text = row.get(column)
    if not isinstance(text, str):
        return None, []
    value, wrong = value_of(text)
    return value, [Problem(f"{column} of {row.get('id')!r} {wrong}")] if wrong else []
