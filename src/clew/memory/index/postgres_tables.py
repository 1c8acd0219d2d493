"""Read and write the tables of the search index in PostgreSQL: workspaces, sessions and entries.

An entry is one passage of a session, found by session, reference and start (``7, m12, 0``). ``write_entries``
adds entries in bulk, one statement per table, and keeps the totals of the workspace. The caller holds the
transaction, and ``lock_workspace`` lets one writer in at a time. The statements are in ``postgres.sql``.

The text forms below are what PostgreSQL searches. One full-text column holds everything of all workspaces, so
each lexeme begins with the key of its workspace: in workspace 7 the term ``login`` at word 3 is
``'7:login':3``, and a day or file is ``'7.d20260301'``. The query functions return ``tsquery`` text over the
same lexemes: ``'7:login' <-> '7:page':*``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from clew.log.store.postgres.connection import Connection
from clew.log.store.postgres.connection import sql as statement
from clew.memory.index import Analysed, Mark
from clew.memory.index.matching import KEYS, entry_row, file_word

LONGEST_WORD = 40
"""Longer terms (hashes, encoded data) are not offered as the spelling of another."""
_COLUMNS = (
    "key", "session", "kind", "place", "ref", "start", "time", "role", "speaker", "trust", "files", "seq",
    "sources", "length", "traits", "days", "terms", "text", "lexemes",
)  # fmt: skip


def sql(name: str) -> bytes:
    """Return a statement of ``postgres.sql``, with the conditions for filters filled in."""
    found = statement(name, "clew.memory.index", "postgres.sql")
    return found.replace(b"{filters}", statement("filters", "clew.memory.index", "postgres.sql"))


# Workspaces and sessions -----------------------------------------------------------------------------


class Workspace(NamedTuple):
    """A row of ``index_workspace``: the columns that the statements select, in their order."""

    key: int
    entries: int
    words: int
    epoch: int
    """Counts how often a session of it was forgotten."""
    last: int
    """The highest key of an entry."""

    @property
    def identity(self) -> tuple[int, int]:
        """Return what changes if the workspace or a session of it is forgotten."""
        return self.key, self.epoch

    @property
    def mean_length(self) -> float:
        """Return the words per entry."""
        return self.words / self.entries if self.entries else 0.0


class IndexedSession(NamedTuple):
    """A session in the index, and how far its log was read."""

    key: int
    upto: int
    messages: int


def find_workspace(connection: Connection, workspace: str) -> Workspace | None:
    """Return the row of a workspace; None if nothing of it is indexed."""
    row = connection.execute(sql("workspace"), {"workspace": workspace}).fetchone()
    return Workspace(*row) if row else None


def lock_workspace(connection: Connection, workspace: str) -> Workspace:
    """Lock a workspace's index, after creating it if needed; return its row."""
    query = {"workspace": workspace}
    row = connection.execute(sql("lock_index"), query).fetchone()
    if row is None:
        connection.execute(sql("add_workspace"), query)
        row = connection.execute(sql("lock_index"), query).fetchone()
    return Workspace(*(row or (0, 0, 0, 0, 0)))


def find_sessions(connection: Connection, workspace: str, names: Sequence[str]) -> dict[str, IndexedSession]:
    """Return the known ones of these sessions by name."""
    found = connection.execute(sql("sessions"), {"workspace": workspace, "names": list(names)})
    return {name: IndexedSession(*row) for name, *row in found}


# Entries ---------------------------------------------------------------------------------------------


def write_entries(
    connection: Connection,
    workspace: str,
    space: Workspace,
    entries: Sequence[Analysed],
    marks: Mapping[str, Mark],
) -> None:
    """Insert entries, replacing those of the same place; ``marks`` say how far the logs were read."""
    names = sorted({analysed.entry.session for analysed in entries} | set(marks))
    connection.execute(sql("add_sessions"), {"workspace": workspace, "names": names})
    sessions = find_sessions(connection, workspace, names)
    new = {
        (sessions[analysed.entry.session].key, analysed.entry.ref, analysed.entry.start): analysed
        for analysed in entries
    }
    replaced = _existing(connection, list(new))
    dropped = drop_entries(connection, [(old.key, old.length) for old in replaced.values()])
    place_numbers = _PlaceNumbers(connection, [session.key for session in sessions.values()])
    rows, last = [], space.last
    for at, analysed in new.items():
        session_key, kind, old = at[0], analysed.entry.kind, replaced.get(at)
        is_same_kind = old is not None and old.kind == kind
        place = old.place if old and is_same_kind else place_numbers.next(session_key, kind)
        last = KEYS.next_key(last, analysed.length)
        rows.append(_row(analysed, last, session_key, place, space.key))
    _insert(connection, workspace, rows)
    grown = {
        "entries": len(new) - dropped[0],
        "words": sum(analysed.length for analysed in new.values()) - dropped[1],
    }
    connection.execute(sql("grow_workspace"), {"workspace": workspace, "last": last, **grown})
    for name, mark in marks.items():
        read = {"key": sessions[name].key, "upto": mark.seq, "messages": mark.messages}
        connection.execute(sql("read_upto"), read)


def drop_entries(connection: Connection, found: Sequence[tuple[Any, ...]]) -> tuple[int, int]:
    """Remove entries, each given as key and length; return how many entries and words they are."""
    if found:
        connection.execute(sql("drop_entries"), {"keys": [key for key, _ in found]})
    return len(found), sum(length for _, length in found)


class _StoredEntry(NamedTuple):
    """An entry in the index: the columns that the statement ``existing`` selects, in their order."""

    key: int
    place: int
    kind: str
    length: int
    session: int
    ref: str
    start: int


def _existing(
    connection: Connection, places: Sequence[tuple[int, str, int]]
) -> dict[tuple[int, str, int], _StoredEntry]:
    """Return what is there, by session, reference and start."""
    sessions, refs, starts = (
        (list(column) for column in zip(*places, strict=True)) if places else ([], [], [])
    )
    query = {"sessions": sessions, "refs": refs, "starts": starts}
    found = (_StoredEntry(*row) for row in connection.execute(sql("existing"), query))
    return {(entry.session, entry.ref, entry.start): entry for entry in found}


class _PlaceNumbers:
    """Gives new entries their places: the next free one of their kind in their session."""

    def __init__(self, connection: Connection, sessions: list[int]) -> None:
        found = connection.execute(sql("next_places"), {"sessions": sessions})
        self._next = {(session, kind): place for session, kind, place in found}

    def next(self, session: int, kind: str) -> int:
        """Return the next place."""
        place: int = self._next.get((session, str(kind)), 0)
        self._next[session, str(kind)] = place + 1
        return place


def _row(analysed: Analysed, key: int, session: int, place: int, workspace_key: int) -> dict[str, Any]:
    """Return the columns of an entry."""
    row = entry_row(analysed, key, session, place)
    marks = [*analysed.days, *(file_word(name) for name in analysed.entry.files)]
    row["lexemes"] = text_vector(workspace_key, analysed.terms.split(), marks)
    # PostgreSQL stores no NUL in a text.
    return {name: one.replace("\0", "\ufffd") if isinstance(one, str) else one for name, one in row.items()}


def _insert(connection: Connection, workspace: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, and their words for suggestions on misspelt ones."""
    if not rows:
        return
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in _COLUMNS}
    connection.execute(sql("add_entries"), {"workspace": workspace, **columns})
    words = {word for row in rows for word in row["terms"].split() if _is_word(word)}
    connection.execute(sql("add_words"), {"workspace": workspace, "terms": sorted(words)})


def _is_word(term: str) -> bool:
    return 2 < len(term) <= LONGEST_WORD and not term.isdigit()


# Text forms ---------------------------------------------------------------------------------------------

LONGEST_LEXEME = 200
"""Most characters of a lexeme; of a longer term its hash is stored. PostgreSQL allows 2,046 bytes."""
MOST_POSITIONS = 16_383
"""The highest position that PostgreSQL stores for a lexeme."""


def text_vector(workspace_key: int, terms: Iterable[str], marks: Iterable[str]) -> str:
    """Return the lexemes of an entry: its terms with their positions, then its days and files (marks)."""
    lexemes = [
        f"{term_query(workspace_key, term)}:{min(position, MOST_POSITIONS)}"
        for position, term in enumerate(terms, start=1)
    ]
    return " ".join([*lexemes, *(_mark(workspace_key, mark) for mark in marks)])


def term_query(workspace_key: int, term: str) -> str:
    """Return a query for one term; this is also the term's lexeme."""
    if len(term) > LONGEST_LEXEME:
        term = hashlib.sha256(term.encode("utf-8", "surrogatepass")).hexdigest()
    return f"'{workspace_key}:{term}'"


def phrase_query(workspace_key: int, terms: Sequence[str], last_is_prefix: bool) -> str:
    """Return a query for terms that follow each other."""
    phrase = " <-> ".join(term_query(workspace_key, term) for term in terms)
    return f"{phrase}:*" if last_is_prefix else phrase


def marks_query(workspace_key: int, marks: Sequence[str]) -> str:
    """Return a query for entries of any of these days or files; empty without any."""
    return f"({' | '.join(_mark(workspace_key, mark) for mark in marks)})" if marks else ""


def both(*queries: str) -> str:
    """Return a query for entries that match all of these; empty ones match every entry."""
    return " & ".join(query for query in queries if query)


def _mark(workspace_key: int, mark: str) -> str:
    return f"'{workspace_key}.{mark}'"


def sign_bits(vector: bytes) -> str:
    """Return the signs of a vector's signed bytes as a bit string: 1 for a positive number."""
    return "".join("1" if 0 < number < 128 else "0" for number in vector)
