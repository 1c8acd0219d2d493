"""The search index, in the same SQLite file as the log: FTS5 for terms, and vectors.

A full-text query looks like ``terms : "paint" AND scope : ("s7") AND scope : ("kturn")``: an entry of session
7 with the stem *paint* that is a turn.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Self

from clew.log.store.database import Database, statements
from clew.memory.index import (
    FOLDER,
    Analysed,
    Filters,
    Index,
    IndexRow,
    IndexStats,
    Mark,
    VectorIndex,
    Wanted,
    index_model,
)
from clew.memory.index.matching import (
    COUNT_LIMIT,
    KEYS,
    MAX_POSTINGS,
    RECOUNT_GROWTH,
    Signs,
    best_keys,
    entry_row,
    fts_quote,
    row_of,
    scope_words,
    spelled_like,
)


def _sql(name: str) -> str:
    return statements("index.sql", "clew.memory.index")[name]


class SqliteIndex(Index, VectorIndex):
    """Searches entries in a SQLite file. Share one between threads; after a fork each process has its own."""

    def __init__(
        self, path: Path, busy_s: float = 10.0, exclusive: bool = False, model: str | None = None
    ) -> None:
        """Open the file's index.

        ``model`` names the embedder whose vectors are searched: if None, the encoder that ``CLEW_ENCODER``
        names or else, if numpy is installed, the one that ships with clew; if empty, none.
        """
        self._database = Database(path, busy_s, exclusive)
        self._model = index_model(model)
        self._signs = Signs()
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}
        self._whole: dict[str, int] = {}
        """For each model, a key up to which every entry has an embedding."""

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    # Contents ------------------------------------------------------------------------------------------

    def add(
        self, workspace: str, entries: Sequence[Analysed], marks: Mapping[str, Mark] | None = None
    ) -> None:
        """Add entries, all or none; an existing one is replaced."""
        with self._database.writing() as connection:
            workspace_key = _workspace(connection, workspace) or _insert(
                connection, "add_workspace", name=workspace
            )
            sessions = {analysed.entry.session for analysed in entries} | set(marks or ())
            keys = {name: _session(connection, workspace_key, name) for name in sorted(sessions)}
            writer = _Writer(connection, workspace_key)
            for entry in entries:
                writer.write(keys[entry.entry.session], entry)
            writer.finish()
            self._whole = {model: min(key, writer.before) for model, key in self._whole.items()}
            for session, mark in (marks or {}).items():
                read = {"key": keys[session], "upto": mark.seq, "messages": mark.messages}
                connection.execute(_sql("read_upto"), read)

    def forget(self, workspace: str, session: str, refs: Collection[str]) -> None:
        """Remove entries. Removing a digest removes its lines too: ``d3.4`` with ``d3``."""
        with self._database.writing() as connection:
            workspace_key = _workspace(connection, workspace)
            if workspace_key is None:
                return
            key = _session(connection, workspace_key, session)
            writer = _Writer(connection, workspace_key)
            for ref in refs:
                result = connection.execute(_sql("entries_of"), {"session": key, "ref": ref}).fetchall()
                for (entry,) in result:
                    writer.drop(entry)
            writer.finish()
            self._signs.forget()

    # Search --------------------------------------------------------------------------------------------

    def stats(
        self, workspace: str, terms: Collection[str], session: str = "", *, spelling: bool = False
    ) -> tuple[IndexStats, Mark]:
        """Return the frequencies of the terms, and how far the session's log is indexed."""
        with self._database.reading() as connection:
            row = connection.execute(_sql("workspace"), {"name": workspace}).fetchone()
            if row is None:
                return IndexStats(0, 0.0, {}), Mark()
            workspace_key, entries, words = row
            having = {
                term: self._count(connection, workspace, workspace_key, entries, term) for term in terms
            }
            near: dict[str, tuple[str, ...]] = {}
            for term in (term for term, count in having.items() if spelling and not count):
                like = spelled_like(term, partial(_words_like, connection))
                near[term] = tuple(
                    t for t in like if self._count(connection, workspace, workspace_key, entries, t)
                )
            having |= {t: self._counts[workspace, t][0] for like in near.values() for t in like}
            known = connection.execute(
                _sql("index_session"), {"workspace": workspace_key, "id": session}
            ).fetchone()
        mark = Mark(*known[1:]) if known else Mark()
        return IndexStats(entries, words / entries if entries else 0.0, having, near), mark

    def marks(self, workspace: str) -> dict[str, Mark]:
        """Return how far the log of each session is indexed, by session."""
        with self._database.reading() as connection:
            rows = connection.execute(_sql("index_marks"), {"name": workspace})
            return {session: Mark(*mark) for session, *mark in rows}

    def folders(self, workspace: str) -> list[str]:
        """Return the roots of the indexed folders of documents."""
        names = {"name": workspace, "first": FOLDER, "last": f"{FOLDER}\U0010ffff"}
        with self._database.reading() as connection:
            return [row[0].removeprefix(FOLDER) for row in connection.execute(_sql("index_folders"), names)]

    def find(self, workspace: str, wanted: Wanted, filters: Filters, limit: int) -> list[int]:
        """Return the keys of matching entries, best first."""
        with self._database.reading() as connection:
            row = connection.execute(_sql("workspace"), {"name": workspace}).fetchone()
            if row is None:
                return []
            workspace_key, entries, words = row
            sessions = _session_keys(connection, workspace_key, filters)
            if filters.sessions and not sessions:
                return []
            if wanted.refs:
                return _keys_of_refs(connection, sessions, wanted.refs, limit)
            scope = _scope(filters, sessions)
            search = _FilteredSearch(connection, workspace_key, scope, filters)
            if wanted.terms:
                search.only_on(wanted.days)
                common = {
                    t: self._count(connection, workspace, workspace_key, entries, t) for t, _ in wanted.terms
                }
                return search.any_of(wanted.terms, common, words / entries if entries else 0.0, limit)
            if wanted.phrase:
                rest = " *" if wanted.last_is_prefix else ""
                return search.latest(f"terms : {fts_quote(' '.join(wanted.phrase))}{rest}", limit)
            if wanted.days:
                return search.latest(f"scope : ({' OR '.join(map(fts_quote, wanted.days))})", limit)
            since = {"model": self._model, "after": self._signs.last}
            self._signs.catch_up(connection.execute(_sql("vectors_after"), since))
            allowed = search.latest("", MAX_POSTINGS) if scope or not search.timeless else None
            return self._signs.nearest(wanted.vector, KEYS.workspace_range(workspace_key), allowed, limit)

    def rows(self, workspace: str, keys: Collection[int], around: int = 0) -> list[IndexRow]:
        """Return these rows and, with ``around``, that many neighbours on both sides of each."""
        with self._database.reading() as connection:
            workspace_key = _workspace(connection, workspace)
            mine = [
                key
                for key in keys
                if workspace_key is not None and key in KEYS.workspace_range(workspace_key)
            ]
            if around:
                beside = {"keys": json.dumps(mine), "around": around}
                mine = [key for (key,) in connection.execute(_sql("around"), beside)]
            result = connection.execute(_sql("rows"), {"keys": json.dumps(mine)}).fetchall()
        return [row_of(row, self._model) for row in result]

    def _count(
        self, connection: sqlite3.Connection, workspace: str, workspace_key: int, entries: int, term: str
    ) -> int:
        """Return how many entries have a term; the count is kept until the workspace has grown."""
        count, then = self._counts.get((workspace, term), (0, 0))
        if not then or not then <= entries <= then * RECOUNT_GROWTH:
            query = {
                "match": f"terms : {fts_quote(term)}",
                "bound": COUNT_LIMIT,
                **KEYS.bounds(workspace_key),
            }
            count, last = connection.execute(_sql("count_matching"), query).fetchone()
            if count == COUNT_LIMIT:
                count = min(entries, round(count * max(1.0, entries / KEYS.number(last))))
            self._counts[workspace, term] = (count, entries)
        return count

    # Vectors -------------------------------------------------------------------------------------------

    @property
    def model(self) -> str:
        """Return the name of the embedder whose vectors are searched; empty for none."""
        return self._model

    def lacking(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Return keys and texts without an embedding by this model, oldest first."""
        wanted = {"model": model, "limit": limit, "after": self._whole.get(model, -1)}
        with self._database.reading() as connection:
            (last,) = connection.execute(_sql("last_key_of_all")).fetchone()
            result = connection.execute(_sql("lacking"), wanted).fetchall()
        self._whole[model] = result[0][0] - 1 if result else max(last, self._whole.get(model, -1))
        return result

    def put(self, model: str, vectors: Mapping[int, bytes]) -> None:
        """Store embeddings; they replace those of another model."""
        rows = [{"key": key, "model": model, "vector": vector} for key, vector in vectors.items()]
        with self._database.writing() as connection:
            connection.executemany(_sql("put_vector"), rows)
        if not rows:
            return
        self._whole = {model: self._whole.get(model, -1)}  # the other models' vectors were replaced
        if min(vectors) <= self._signs.last:
            self._signs.forget()  # some come before what was already read

    def progress(self, model: str) -> tuple[int, int]:
        """Return how many entries have an embedding by this model, and how many there are."""
        with self._database.reading() as connection:
            embedded, total = connection.execute(_sql("count_vectors"), {"model": model}).fetchone()
        return embedded, total


class _Writer:
    """Writes entries of one workspace, and its totals at the end."""

    def __init__(self, connection: sqlite3.Connection, workspace_key: int) -> None:
        self._connection = connection
        self._workspace_key = workspace_key
        (self._last,) = connection.execute(_sql("last_key"), KEYS.bounds(workspace_key)).fetchone()
        self.before = self._last
        """Every entry written gets a higher key than this."""
        self._places: dict[tuple[int, str], int] = {}
        self._entries = self._words = 0

    def write(self, session: int, analysed: Analysed) -> None:
        entry = analysed.entry
        at = {"session": session, "ref": entry.ref, "start": entry.start}
        existing = self._connection.execute(_sql("entry_at"), at).fetchone()
        if existing:
            self.drop(existing[0])
        same = existing and existing[2] == entry.kind
        place = existing[1] if same else self._next_place(session, entry.kind)
        self._last = KEYS.next_key(self._last, analysed.length)
        row = entry_row(analysed, key=self._last, session=session, place=place)
        self._connection.execute(_sql("add_entry"), row)
        text_row = {name: row[name] for name in ("key", "terms", "scope")}
        self._connection.execute(_sql("add_entry_text"), text_row)
        self._entries += 1
        self._words += analysed.length

    def drop(self, key: int) -> None:
        self._connection.execute(_sql("drop_entry_text"), {"key": key})
        self._connection.execute(_sql("drop_vector"), {"key": key})
        ((length,),) = self._connection.execute(_sql("drop_entry"), {"key": key}).fetchall()
        self._entries -= 1
        self._words -= length

    def finish(self) -> None:
        grown = {"key": self._workspace_key, "entries": self._entries, "words": self._words}
        self._connection.execute(_sql("grow_workspace"), grown)

    def _next_place(self, session: int, kind: str) -> int:
        if (session, kind) not in self._places:
            query = {"session": session, "kind": kind}
            (self._places[session, kind],) = self._connection.execute(_sql("next_place"), query).fetchone()
        self._places[session, kind] += 1
        return self._places[session, kind] - 1


class _FilteredSearch:
    """Searches one workspace within the filters."""

    def __init__(
        self, connection: sqlite3.Connection, workspace_key: int, scope: str, filters: Filters
    ) -> None:
        self._connection = connection
        self._scope = scope
        self.timeless = not filters.after and not filters.before
        self._bounds = {**KEYS.bounds(workspace_key), "timeless": self.timeless}
        self._bounds |= {"after": filters.after, "before": filters.before}

    def only_on(self, days: Sequence[str]) -> None:
        """Restrict the search to entries of these days."""
        if days:
            on = f"scope : ({' OR '.join(map(fts_quote, days))})"
            self._scope = f"{self._scope} AND {on}" if self._scope else on

    def latest(self, match: str, limit: int) -> list[int]:
        """Return the latest keys that match; without a match expression, the latest within the filters."""
        both = " AND ".join(part for part in (match, self._scope) if part) or "scope : t*"
        rows = self._connection.execute(_sql("matching"), {**self._bounds, "match": both, "limit": limit})
        return list(chain.from_iterable(rows))

    def any_of(
        self, terms: Iterable[tuple[str, float]], common: Mapping[str, int], mean_length: float, limit: int
    ) -> list[int]:
        """Return the keys with the highest total weight; rare terms are read first, up to the bound."""
        remaining = MAX_POSTINGS
        keys_by_term: list[tuple[list[int], float]] = []
        for term, weight in sorted(terms, key=lambda pair: (common[pair[0]], pair)):
            if remaining <= 0:
                break
            keys = self.latest(f"terms : {fts_quote(term)}", remaining)
            remaining -= len(keys)
            keys_by_term.append((keys, weight))
        return best_keys(keys_by_term, mean_length, limit)


def _session_keys(connection: sqlite3.Connection, workspace_key: int, filters: Filters) -> list[int]:
    """Return the keys of the requested sessions that exist."""
    named = ({"workspace": workspace_key, "id": name} for name in filters.sessions)
    result = (connection.execute(_sql("index_session"), item).fetchone() for item in named)
    return [row[0] for row in result if row]


def _words_like(connection: sqlite3.Connection, wanted: Mapping[str, Any]) -> list[str]:
    return list(chain.from_iterable(connection.execute(_sql("words_like"), wanted)))


def _keys_of_refs(
    connection: sqlite3.Connection, sessions: Sequence[int], refs: Sequence[str], limit: int
) -> list[int]:
    """Return the keys of entries with these references in these sessions, in order."""
    wanted = {"refs": json.dumps(refs), "limit": limit}
    rows = (connection.execute(_sql("called"), {**wanted, "session": session}) for session in sessions)
    return [key for row in rows for (key,) in row][:limit]


def _scope(filters: Filters, sessions: Sequence[int]) -> str:
    """Return the filters as an FTS5 condition."""
    groups = scope_words(filters, sessions)
    return " AND ".join(f"scope : ({' OR '.join(map(fts_quote, group))})" for group in groups)


def _workspace(connection: sqlite3.Connection, name: str) -> int | None:
    row = connection.execute(_sql("workspace"), {"name": name}).fetchone()
    return row[0] if row else None


def _session(connection: sqlite3.Connection, workspace_key: int, name: str) -> int:
    query = {"workspace": workspace_key, "id": name}
    row = connection.execute(_sql("index_session"), query).fetchone()
    return row[0] if row else _insert(connection, "add_index_session", **query)


def _insert(connection: sqlite3.Connection, statement: str, **row: object) -> int:
    return connection.execute(_sql(statement), row).lastrowid or 0
