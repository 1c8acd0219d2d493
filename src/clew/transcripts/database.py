"""SQLite files of other tools: opened without a trace, read row by row, a damaged one reported."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from clew.message import Json, JsonObject
from clew.transcripts.records import Problem, Record
from clew.transcripts.source import Source

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

_MAGIC = b"SQLite format 3\0"


@contextmanager
def opened(source: Source) -> Iterator[sqlite3.Connection]:
    """Open a database read-only.

    A tool that is running keeps its newest rows beside the file, in a write-ahead log: that is read too,
    except where the folder cannot be written to and SQLite could not share the log.
    """
    source.keep()
    with source.on_disk() as path, closing(_connected(path)) as connection:
        connection.text_factory = _lenient_text
        yield connection


def _connected(path: Path) -> sqlite3.Connection:
    import sqlite3

    address = path.resolve().as_uri()
    connection = sqlite3.connect(f"{address}?mode=ro", uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        return sqlite3.connect(f"{address}?immutable=1", uri=True)
    except sqlite3.DatabaseError:
        pass  # said where the rows are read
    return connection


def _lenient_text(data: bytes) -> str:
    return data.decode(errors="replace")


def has_tables(source: Source, tables: dict[str, Sequence[str]]) -> bool:
    """Tell whether a source is a database with these tables and columns."""
    if source.is_directory or source.peek(len(_MAGIC)) != _MAGIC:
        return False
    import sqlite3

    try:
        with opened(source) as connection:
            return all(set(columns) <= columns_of(connection, table) for table, columns in tables.items())
    except sqlite3.DatabaseError:
        return False


def columns_of(connection: sqlite3.Connection, table: str) -> set[str]:
    """Return the columns of a table; none where there is no such table."""
    return {row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def rows(connection: sqlite3.Connection, query: str, values: Sequence[str] = ()) -> Iterator[JsonObject]:
    """Yield each row as an object of column names."""
    cursor = connection.execute(query, tuple(values))
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def reported(records: Iterator[Record]) -> Iterator[Record]:
    """Pass records on; where the database turns out to be damaged, end with a ``Problem``."""
    import sqlite3

    try:
        yield from records
    except sqlite3.DatabaseError as cause:
        yield Problem(f"the database cannot be read further: {cause}")


def decoded(row: JsonObject, column: str) -> tuple[Json, Problem | None]:
    """Decode the JSON in a column; what is wrong with it comes back as the problem."""
    text = row.get(column)
    if not isinstance(text, str):
        return None, None
    try:
        return json.loads(text), None
    except (ValueError, RecursionError) as cause:
        return None, Problem(f"{column} of {row.get('id')!r} is not JSON ({cause})")
