"""The search index in PostgreSQL, next to the log: full text for terms, bit strings for vectors.

``PostgresIndex`` does what ``SqliteIndex`` does, for all processes that share the database: ``add`` indexes
analysed passages of sessions, ``find`` returns the keys of those that match, best first, and ``rows`` loads
them. Each method is one transaction (``work``), which the connection pool may run again after a lost
connection. Vectors are compared with pgvector if that extension is installed, else with the server's own
functions.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from clew.log.store.postgres.connection import Connection, Connections
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
    best_keys,
    file_word,
    row_of,
    spelled_like,
)
from clew.memory.index.postgres_tables import (
    Workspace,
    both,
    drop_entries,
    find_sessions,
    find_workspace,
    lock_workspace,
    marks_query,
    phrase_query,
    sign_bits,
    sql,
    term_query,
    write_entries,
)

MOST_COUNTS = 50_000
"""Terms whose counts are kept in memory."""


class PostgresIndex(Index, VectorIndex):
    """Searches entries in the schema of a ``PostgresStore``, on its connections. Share one between threads.

    The methods of ``VectorIndex`` apply to one workspace: a transaction sees no other.
    """

    def __init__(self, connections: Connections, workspace: str = "local", model: str | None = None) -> None:
        """Open the index of a store: ``PostgresIndex(store.connections, workspace)``.

        ``model`` names the embedder whose vectors are searched: if None, the encoder that ``CLEW_ENCODER``
        names or else, if numpy is installed, the one that ships with clew; if empty, none.
        """
        self._connections = connections
        self._workspace = workspace
        self._model = index_model(model)
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}
        self._whole: dict[str, int] = {}
        """For each model, a key up to which every entry has an embedding."""
        self._seen = threading.local()
        """By workspace, the state of the index that ``stats`` saw in this thread; ``add`` compares it."""
        found = self._connections.run(workspace, lambda c, _: c.execute(sql("pgvector")).fetchone())
        self._pgvector: str = found[0] if found else ""
        """The schema of the extension; empty if it is not installed."""

    # Contents ------------------------------------------------------------------------------------------

    def add(
        self, workspace: str, entries: Sequence[Analysed], marks: Mapping[str, Mark] | None = None
    ) -> None:
        """Add entries, all or none; an existing one is replaced.

        Entries of a log (with ``marks``) are refused if a session of the workspace was forgotten since
        ``stats`` was called in this thread: they may be of that session.
        """
        seen = getattr(self._seen, workspace, None) if marks else None

        def work(connection: Connection, _again: bool) -> None:
            space = lock_workspace(connection, workspace)
            if seen in (None, space.identity):
                write_entries(connection, workspace, space, entries, marks or {})
                self._whole = {model: min(key, space.last) for model, key in self._whole.items()}

        self._connections.run(workspace, work)

    def forget(self, workspace: str, session: str, refs: Collection[str]) -> None:
        """Remove entries. Removing a digest removes its lines too: ``d3.4`` with ``d3``."""

        def work(connection: Connection, _again: bool) -> None:
            space = lock_workspace(connection, workspace)
            known = find_sessions(connection, workspace, [session])
            if session not in known:
                return
            query = {"session": known[session].key, "refs": list(refs)}
            found = set(connection.execute(sql("entries_of"), query).fetchall())
            gone = drop_entries(connection, sorted(found))
            shrunk = {"workspace": workspace, "entries": -gone[0], "words": -gone[1], "last": space.last}
            connection.execute(sql("grow_workspace"), shrunk)

        self._connections.run(workspace, work)

    # Search --------------------------------------------------------------------------------------------

    def stats(
        self, workspace: str, terms: Collection[str], session: str = "", *, spelling: bool = False
    ) -> tuple[IndexStats, Mark]:
        """Return the frequencies of the terms, and how far the session's log is indexed."""

        def work(connection: Connection, _again: bool) -> tuple[IndexStats, Mark]:
            if session:  # so that ``add`` can notice that the session was forgotten meanwhile
                connection.execute(sql("add_workspace"), {"workspace": workspace})
            space = find_workspace(connection, workspace)
            if space is None:
                return IndexStats(0, 0.0, {}), Mark()
            setattr(self._seen, workspace, space.identity)
            having = self._count(connection, workspace, space, terms) if space.entries else {}
            near: dict[str, tuple[str, ...]] = {}
            for term in (term for term, count in having.items() if spelling and not count):
                like = spelled_like(term, partial(_words_like, connection, workspace))
                counts = self._count(connection, workspace, space, like)
                near[term] = tuple(word for word in like if counts[word])
                having = {**having, **{word: counts[word] for word in near[term]}}
            known = find_sessions(connection, workspace, [session]) if session else {}
            mark = Mark(known[session].upto, known[session].messages) if session in known else Mark()
            return IndexStats(space.entries, space.mean_length, having, near), mark

        return self._connections.run(workspace, work)

    def marks(self, workspace: str) -> dict[str, Mark]:
        """Return how far the log of each session is indexed, by session."""

        def work(connection: Connection, _again: bool) -> dict[str, Mark]:
            rows = connection.execute(sql("marks"), {"workspace": workspace})
            return {session: Mark(*mark) for session, *mark in rows}

        return self._connections.run(workspace, work)

    def folders(self, workspace: str) -> list[str]:
        """Return the roots of the indexed folders of documents."""
        query = {"workspace": workspace, "prefix": FOLDER}

        def work(connection: Connection, _again: bool) -> list[str]:
            return [row[0].removeprefix(FOLDER) for row in connection.execute(sql("folders"), query)]

        return self._connections.run(workspace, work)

    def find(self, workspace: str, wanted: Wanted, filters: Filters, limit: int) -> list[int]:
        """Return the keys of matching entries, best first."""

        def work(connection: Connection, _again: bool) -> list[int]:
            space = find_workspace(connection, workspace)
            if space is None:
                return []
            known = find_sessions(connection, workspace, filters.sessions) if filters.sessions else {}
            sessions = [known[name].key for name in filters.sessions if name in known]
            if filters.sessions and not sessions:
                return []
            if wanted.refs:
                query = {"sessions": sessions, "refs": list(wanted.refs), "limit": limit}
                return [key for (key,) in connection.execute(sql("called"), query)]
            search = _FilteredSearch(connection, space.key, filters, sessions or None)
            if wanted.terms:
                weights = dict(wanted.terms)
                common = self._count(connection, workspace, space, weights)
                keys_by_term = search.any_of(weights, common, wanted.days)
                return best_keys(keys_by_term, space.mean_length, limit)
            if wanted.phrase:
                return search.latest(phrase_query(space.key, wanted.phrase, wanted.last_is_prefix), limit)
            if wanted.days:
                return search.latest(marks_query(space.key, wanted.days), limit)
            return search.nearest(wanted.vector, self._model, self._pgvector, limit)

        return self._connections.run(workspace, work)

    def rows(self, workspace: str, keys: Collection[int], around: int = 0) -> list[IndexRow]:
        """Return these rows and, with ``around``, that many neighbours on both sides of each."""

        def work(connection: Connection, _again: bool) -> list[tuple[Any, ...]]:
            mine = list(keys)
            if around:
                query = {"keys": mine, "around": around}
                mine = [key for (key,) in connection.execute(sql("around"), query)]
            return connection.execute(sql("rows"), {"keys": mine}).fetchall()

        return [row_of(row, self._model) for row in self._connections.run(workspace, work)]

    def _count(
        self, connection: Connection, workspace: str, space: Workspace, terms: Collection[str]
    ) -> dict[str, int]:
        """Return how many entries have each term; counts are kept until the workspace has grown."""
        entries = space.entries
        counts = {term: self._counts.get((workspace, term), (0, 0)) for term in terms}
        stale = [
            term
            for term, (_, then) in counts.items()
            if not then or not then <= entries <= then * RECOUNT_GROWTH
        ]
        if stale:
            query = {"queries": [term_query(space.key, term) for term in stale], "bound": COUNT_LIMIT}
            for nth, count, last in connection.execute(sql("count_matching"), query):
                grown = max(1.0, entries / max(1, KEYS.number(last))) if count == COUNT_LIMIT else 1.0
                counts[stale[nth - 1]] = (min(entries, round(count * grown)), entries)
            if len(self._counts) + len(stale) > MOST_COUNTS:
                self._counts = {}
            self._counts |= {(workspace, term): counts[term] for term in stale}
        return {term: count for term, (count, _) in counts.items()}

    # Vectors -------------------------------------------------------------------------------------------

    @property
    def model(self) -> str:
        """Return the name of the embedder whose vectors are searched; empty for none."""
        return self._model

    def lacking(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Return keys and texts without an embedding by this model, oldest first."""
        query = {"model": model, "limit": limit, "after": self._whole.get(model, -1)}

        def work(connection: Connection, _again: bool) -> tuple[int, list[Any]]:
            space = find_workspace(connection, self._workspace)
            return space.last if space else -1, connection.execute(sql("lacking"), query).fetchall()

        last, found = self._connections.run(self._workspace, work)
        self._whole[model] = found[0][0] - 1 if found else max(last, self._whole.get(model, -1))
        return found

    def put(self, model: str, vectors: Mapping[int, bytes]) -> None:
        """Store embeddings; they replace those of another model."""
        if not vectors:
            return
        query = {
            "workspace": self._workspace,
            "model": model,
            "keys": list(vectors),
            "vectors": list(vectors.values()),
            "signs": [sign_bits(vector) for vector in vectors.values()],
        }
        self._connections.run(self._workspace, lambda c, _: c.execute(sql("put_vectors"), query).rowcount)
        self._whole = {model: self._whole.get(model, -1)}  # the other models' vectors were replaced

    def progress(self, model: str) -> tuple[int, int]:
        """Return how many entries have an embedding by this model, and how many there are."""
        query = {"model": model}
        row = self._connections.run(
            self._workspace, lambda c, _: c.execute(sql("count_vectors"), query).fetchone()
        )
        return (row[0], row[1]) if row else (0, 0)


class _FilteredSearch:
    """Searches one workspace within the filters."""

    def __init__(
        self, connection: Connection, workspace_key: int, filters: Filters, sessions: list[int] | None
    ) -> None:
        self._connection = connection
        self._workspace_key = workspace_key
        self._files = marks_query(workspace_key, [file_word(name) for name in filters.files])
        self._filters: dict[str, Any] = {
            "sessions": sessions,
            "trust": int(filters.trust),
            "kinds": [str(kind) for kind in filters.kinds] or None,
            "roles": list(filters.roles) or None,
            "after": filters.after,
            "before": filters.before,
        }

    def latest(self, query: str, limit: int) -> list[int]:
        """Return the latest keys that match, newest first."""
        return self._matching([query], [limit])[0]

    def any_of(
        self, weights: Mapping[str, float], common: Mapping[str, int], days: Sequence[str]
    ) -> list[tuple[list[int], float]]:
        """Return the keys of each term with its weight; rare terms are read first, up to the bound."""
        left, limits = MAX_POSTINGS, list[int]()
        order = sorted(weights, key=lambda term: (common[term], term))
        for term in order:
            limits.append(max(0, left))
            left -= common[term]
        queries = [
            both(term_query(self._workspace_key, term), marks_query(self._workspace_key, days))
            for term in order
        ]
        return list(zip(self._matching(queries, limits), (weights[term] for term in order), strict=True))

    def nearest(self, vector: bytes, model: str, pgvector: str, limit: int) -> list[int]:
        """Return the keys of the vectors whose signs differ least."""
        bits = len(vector)
        distance = "bit_count(signs # %(signs)s::varbit)"
        if pgvector:
            distance = f"signs::bit({bits}) OPERATOR({pgvector}.<~>) %(signs)s::bit({bits})"
        query = {
            "model": model,
            "bits": bits,
            "signs": sign_bits(vector),
            "files": self._files,
            "limit": limit,
        }
        found = sql("nearest").replace(b"{distance}", distance.encode())
        return [key for (key,) in self._connection.execute(found, {**self._filters, **query})]

    def _matching(self, queries: Sequence[str], limits: Sequence[int]) -> list[list[int]]:
        wanted = {"queries": [both(term, self._files) for term in queries], "limits": list(limits)}
        found: list[list[int]] = [[] for _ in queries]
        for nth, key in self._connection.execute(sql("matching"), {**wanted, **self._filters}):
            found[nth - 1].append(key)
        return found


def _words_like(connection: Connection, workspace: str, wanted: Mapping[str, Any]) -> list[str]:
    """Return indexed words that may be what a misspelt one means."""
    query = {**wanted, "workspace": workspace}
    return [word for (word,) in connection.execute(sql("words_like"), query)]
