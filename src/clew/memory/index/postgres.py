"""The search index in PostgreSQL, next to the log: full text for terms, bit strings for vectors.

Vectors are compared with pgvector if that extension is installed, else with the server's own functions.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from clew.log.store.postgres.connection import Connection, Connections
from clew.log.store.postgres.connection import sql as statement
from clew.memory.index.approximate import spelled_like
from clew.memory.index.protocol import (
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
from clew.memory.index.rows import (
    COUNT_LIMIT,
    KEYS,
    MAX_POSTINGS,
    RECOUNT_GROWTH,
    best_keys,
    entry_row,
    file_word,
    row_of,
)

LONGEST_LEXEME = 200
"""Most characters of a lexeme; of a longer term its hash is stored. PostgreSQL allows 2,046 bytes."""
MOST_POSITIONS = 16_383
"""The highest position that PostgreSQL stores for a lexeme."""
LONGEST_WORD = 40
"""Longer terms (hashes, encoded data) are not offered as the spelling of another."""
MOST_COUNTS = 50_000
"""Terms whose counts are kept in memory."""
_COLUMNS = (
    "key", "session", "kind", "place", "ref", "start", "time", "role", "speaker", "trust", "files", "seq",
    "sources", "length", "traits", "days", "terms", "text", "lexemes",
)  # fmt: skip


def _sql(name: str) -> bytes:
    found = statement(name, "clew.memory.index", "postgres.sql")
    return found.replace(b"{filters}", statement("filters", "clew.memory.index", "postgres.sql"))


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
        found = self._connections.run(workspace, lambda c, _: c.execute(_sql("pgvector")).fetchone())
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
            space = _lock_index(connection, workspace)
            if seen in (None, space.identity):
                self._write(connection, workspace, space, entries, marks or {})

        self._connections.run(workspace, work)

    def _write(
        self,
        connection: Connection,
        workspace: str,
        space: _Workspace,
        entries: Sequence[Analysed],
        marks: Mapping[str, Mark],
    ) -> None:
        """Insert entries, replacing those of the same place, and update the counts of their workspace."""
        names = sorted({analysed.entry.session for analysed in entries} | set(marks))
        connection.execute(_sql("add_sessions"), {"workspace": workspace, "names": names})
        sessions = _sessions(connection, workspace, names)
        new = {
            (sessions[analysed.entry.session].key, analysed.entry.ref, analysed.entry.start): analysed
            for analysed in entries
        }
        replaced = _existing(connection, list(new))
        gone = _drop(connection, [(old.key, old.length) for old in replaced.values()])
        places = _Places(connection, [session.key for session in sessions.values()])
        rows, last = [], space.last
        for at, analysed in new.items():
            old = replaced.get(at)
            keeps_place = old is not None and old.kind == analysed.entry.kind
            place = old.place if old and keeps_place else places.next(at[0], analysed.entry.kind)
            last = KEYS.next_key(last, analysed.length)
            rows.append(_row(analysed, last, at[0], place, space.key))
        if rows:
            columns: dict[str, Any] = {name: [row[name] for row in rows] for name in _COLUMNS}
            connection.execute(_sql("add_entries"), {"workspace": workspace, **columns})
            words = {word for row in rows for word in row["terms"].split() if _is_word(word)}
            connection.execute(_sql("add_words"), {"workspace": workspace, "terms": sorted(words)})
        grown = {
            "entries": len(new) - gone[0],
            "words": sum(analysed.length for analysed in new.values()) - gone[1],
        }
        connection.execute(_sql("grow_workspace"), {"workspace": workspace, "last": last, **grown})
        for name, mark in marks.items():
            read = {"key": sessions[name].key, "upto": mark.seq, "messages": mark.messages}
            connection.execute(_sql("read_upto"), read)
        self._whole = {model: min(key, space.last) for model, key in self._whole.items()}

    def forget(self, workspace: str, session: str, refs: Collection[str]) -> None:
        """Remove entries. Removing a digest removes its lines too: ``d3.4`` with ``d3``."""

        def work(connection: Connection, _again: bool) -> None:
            space = _lock_index(connection, workspace)
            known = _sessions(connection, workspace, [session])
            if session not in known:
                return
            query = {"session": known[session].key, "refs": list(refs)}
            found = set(connection.execute(_sql("entries_of"), query).fetchall())
            gone = _drop(connection, sorted(found))
            shrunk = {"workspace": workspace, "entries": -gone[0], "words": -gone[1], "last": space.last}
            connection.execute(_sql("grow_workspace"), shrunk)

        self._connections.run(workspace, work)

    # Search --------------------------------------------------------------------------------------------

    def stats(
        self, workspace: str, terms: Collection[str], session: str = "", *, spelling: bool = False
    ) -> tuple[IndexStats, Mark]:
        """Return the frequencies of the terms, and how far the session's log is indexed."""

        def work(connection: Connection, _again: bool) -> tuple[IndexStats, Mark]:
            if session:  # so that ``add`` can notice that the session was forgotten meanwhile
                connection.execute(_sql("add_workspace"), {"workspace": workspace})
            space = _workspace(connection, workspace)
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
            known = _sessions(connection, workspace, [session]) if session else {}
            mark = Mark(known[session].upto, known[session].messages) if session in known else Mark()
            return IndexStats(space.entries, space.mean_length, having, near), mark

        return self._connections.run(workspace, work)

    def folders(self, workspace: str) -> list[str]:
        """Return the roots of the indexed folders of documents."""
        query = {"workspace": workspace, "prefix": FOLDER}

        def work(connection: Connection, _again: bool) -> list[str]:
            return [row[0].removeprefix(FOLDER) for row in connection.execute(_sql("folders"), query)]

        return self._connections.run(workspace, work)

    def find(self, workspace: str, wanted: Wanted, filters: Filters, limit: int) -> list[int]:
        """Return the keys of matching entries, best first."""

        def work(connection: Connection, _again: bool) -> list[int]:
            space = _workspace(connection, workspace)
            if space is None:
                return []
            known = _sessions(connection, workspace, filters.sessions) if filters.sessions else {}
            sessions = [known[name].key for name in filters.sessions if name in known]
            if filters.sessions and not sessions:
                return []
            if wanted.refs:
                query = {"sessions": sessions, "refs": list(wanted.refs), "limit": limit}
                return [key for (key,) in connection.execute(_sql("called"), query)]
            search = _Search(connection, space.key, filters, sessions or None)
            if wanted.terms:
                weights = dict(wanted.terms)
                common = self._count(connection, workspace, space, weights)
                keys_by_term = search.any_of(weights, common, wanted.days)
                return best_keys(keys_by_term, space.mean_length, limit)
            if wanted.phrase:
                return search.latest(_phrase(space.key, wanted.phrase, wanted.last_is_prefix), limit)
            if wanted.days:
                return search.latest(_any_mark(space.key, wanted.days), limit)
            return search.nearest(wanted.vector, self._model, self._pgvector, limit)

        return self._connections.run(workspace, work)

    def rows(self, workspace: str, keys: Collection[int], around: int = 0) -> list[IndexRow]:
        """Return these rows and, with ``around``, that many neighbours on both sides of each."""

        def work(connection: Connection, _again: bool) -> list[tuple[Any, ...]]:
            mine = list(keys)
            if around:
                query = {"keys": mine, "around": around}
                mine = [key for (key,) in connection.execute(_sql("around"), query)]
            return connection.execute(_sql("rows"), {"keys": mine}).fetchall()

        return [row_of(row, self._model) for row in self._connections.run(workspace, work)]

    def _count(
        self, connection: Connection, workspace: str, space: _Workspace, terms: Collection[str]
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
            query = {"queries": [_lexeme(space.key, term) for term in stale], "bound": COUNT_LIMIT}
            for nth, count, last in connection.execute(_sql("count_matching"), query):
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
            space = _workspace(connection, self._workspace)
            return space.last if space else -1, connection.execute(_sql("lacking"), query).fetchall()

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
            "signs": [_signs(vector) for vector in vectors.values()],
        }
        self._connections.run(self._workspace, lambda c, _: c.execute(_sql("put_vectors"), query).rowcount)
        self._whole = {model: self._whole.get(model, -1)}  # the other models' vectors were replaced

    def progress(self, model: str) -> tuple[int, int]:
        """Return how many entries have an embedding by this model, and how many there are."""
        query = {"model": model}
        row = self._connections.run(
            self._workspace, lambda c, _: c.execute(_sql("count_vectors"), query).fetchone()
        )
        return (row[0], row[1]) if row else (0, 0)


class _Search:
    """Searches one workspace within the filters."""

    def __init__(
        self, connection: Connection, workspace_key: int, filters: Filters, sessions: list[int] | None
    ) -> None:
        self._connection = connection
        self._workspace_key = workspace_key
        self._files = _any_mark(workspace_key, [file_word(name) for name in filters.files])
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
            _and(_lexeme(self._workspace_key, term), _any_mark(self._workspace_key, days)) for term in order
        ]
        return list(zip(self._matching(queries, limits), (weights[term] for term in order), strict=True))

    def nearest(self, vector: bytes, model: str, pgvector: str, limit: int) -> list[int]:
        """Return the keys of the vectors whose signs differ least."""
        bits = len(vector)
        distance = "bit_count(signs # %(signs)s::varbit)"
        if pgvector:
            distance = f"signs::bit({bits}) OPERATOR({pgvector}.<~>) %(signs)s::bit({bits})"
        query = {"model": model, "bits": bits, "signs": _signs(vector), "files": self._files, "limit": limit}
        found = _sql("nearest").replace(b"{distance}", distance.encode())
        return [key for (key,) in self._connection.execute(found, {**self._filters, **query})]

    def _matching(self, queries: Sequence[str], limits: Sequence[int]) -> list[list[int]]:
        wanted = {"queries": [_and(term, self._files) for term in queries], "limits": list(limits)}
        found: list[list[int]] = [[] for _ in queries]
        for nth, key in self._connection.execute(_sql("matching"), {**wanted, **self._filters}):
            found[nth - 1].append(key)
        return found


class _Places:
    """Gives new entries their places: the next free one of their kind in their session."""

    def __init__(self, connection: Connection, sessions: list[int]) -> None:
        found = connection.execute(_sql("next_places"), {"sessions": sessions})
        self._next = {(session, kind): place for session, kind, place in found}

    def next(self, session: int, kind: str) -> int:
        """Return the next place."""
        place: int = self._next.get((session, str(kind)), 0)
        self._next[session, str(kind)] = place + 1
        return place


class _SessionRow(NamedTuple):
    """A session in the index, and how far its log was read."""

    key: int
    upto: int
    messages: int


class _StoredEntry(NamedTuple):
    """An entry in the index: the columns that the statement ``existing`` selects, in their order."""

    key: int
    place: int
    kind: str
    length: int
    session: int
    ref: str
    start: int


class _Workspace(NamedTuple):
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


def _workspace(connection: Connection, workspace: str) -> _Workspace | None:
    row = connection.execute(_sql("workspace"), {"workspace": workspace}).fetchone()
    return _Workspace(*row) if row else None


def _lock_index(connection: Connection, workspace: str) -> _Workspace:
    """Lock a workspace's index, after creating it if needed; return its row."""
    query = {"workspace": workspace}
    row = connection.execute(_sql("lock_index"), query).fetchone()
    if row is None:
        connection.execute(_sql("add_workspace"), query)
        row = connection.execute(_sql("lock_index"), query).fetchone()
    return _Workspace(*(row or (0, 0, 0, 0, 0)))


def _sessions(connection: Connection, workspace: str, names: Sequence[str]) -> dict[str, _SessionRow]:
    """Return the known ones of these sessions by name."""
    found = connection.execute(_sql("sessions"), {"workspace": workspace, "names": list(names)})
    return {name: _SessionRow(*row) for name, *row in found}


def _existing(
    connection: Connection, places: Sequence[tuple[int, str, int]]
) -> dict[tuple[int, str, int], _StoredEntry]:
    """Return what is there, by session, reference and start."""
    sessions, refs, starts = (
        (list(column) for column in zip(*places, strict=True)) if places else ([], [], [])
    )
    query = {"sessions": sessions, "refs": refs, "starts": starts}
    found = (_StoredEntry(*row) for row in connection.execute(_sql("existing"), query))
    return {(entry.session, entry.ref, entry.start): entry for entry in found}


def _drop(connection: Connection, found: Sequence[tuple[Any, ...]]) -> tuple[int, int]:
    """Remove entries, each given as key and length; return how many entries and words they are."""
    if found:
        connection.execute(_sql("drop_entries"), {"keys": [key for key, _ in found]})
    return len(found), sum(length for _, length in found)


def _words_like(connection: Connection, workspace: str, wanted: Mapping[str, Any]) -> list[str]:
    query = {**wanted, "workspace": workspace}
    return [word for (word,) in connection.execute(_sql("words_like"), query)]


def _row(analysed: Analysed, key: int, session: int, place: int, workspace_key: int) -> dict[str, Any]:
    row = entry_row(analysed, key, session, place)
    marks = [*analysed.days, *(file_word(name) for name in analysed.entry.files)]
    terms = enumerate(analysed.terms.split(), start=1)
    lexemes = [f"{_lexeme(workspace_key, term)}:{min(at, MOST_POSITIONS)}" for at, term in terms]
    row["lexemes"] = " ".join([*lexemes, *(_mark(workspace_key, mark) for mark in marks)])
    # PostgreSQL stores no NUL in a text.
    return {name: one.replace("\0", "\ufffd") if isinstance(one, str) else one for name, one in row.items()}


def _lexeme(workspace_key: int, term: str) -> str:
    """Return a term as a lexeme of a workspace."""
    if len(term) > LONGEST_LEXEME:
        term = hashlib.sha256(term.encode("utf-8", "surrogatepass")).hexdigest()
    return f"'{workspace_key}:{term}'"


def _mark(workspace_key: int, mark: str) -> str:
    """Return a day or file as a lexeme of a workspace."""
    return f"'{workspace_key}.{mark}'"


def _any_mark(workspace_key: int, marks: Sequence[str]) -> str:
    return f"({' | '.join(_mark(workspace_key, mark) for mark in marks)})" if marks else ""


def _and(*queries: str) -> str:
    return " & ".join(term for term in queries if term)


def _phrase(workspace_key: int, terms: Sequence[str], last_is_prefix: bool) -> str:
    return " <-> ".join(_lexeme(workspace_key, term) for term in terms) + (":*" if last_is_prefix else "")


def _is_word(term: str) -> bool:
    return 2 < len(term) <= LONGEST_WORD and not term.isdigit()


def _signs(vector: bytes) -> str:
    """Return the signs of a vector's numbers as a bit string."""
    return "".join("1" if 0 < number < 128 else "0" for number in vector)
