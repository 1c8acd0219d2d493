"""Search the index: collect candidates, compute their features, rank them, merge adjoining pieces.

``search(index, workspace, Query(text="which port failed?", at="2026-11-15T09:00:00Z"))`` returns up to ten
hits. The index returns some hundred candidates by words, exact values, dates and meaning; ``features.py``
measures them; a weighted sum ranks them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from heapq import nlargest
from importlib.resources import files
from itertools import islice
from operator import mul
from typing import NamedTuple

from clew.memory.dates import in_utc
from clew.memory.features import (
    Candidate,
    DenseFeatures,
    FeatureExtractor,
    LexicalFeatures,
    dense_features,
    rarity,
    to_candidates,
)
from clew.memory.index import (
    ANYTHING,
    Embedder,
    Entry,
    EntryKind,
    Filters,
    Index,
    IndexRow,
    IndexStats,
    Wanted,
)
from clew.memory.question import ParsedQuestion, occurs_in, understand
from clew.memory.terms import joined_terms, marks_to_find, name_terms, stop_words, surface, terms

# Candidates fetched per kind of match. Chosen by hand for recall on LoCoMo at about 20 ms per search.
WORDS_CANDIDATES = 100
ROLE_CANDIDATES = 100
MEANING_CANDIDATES = 40
DATE_CANDIDATES = 60
VALUE_CANDIDATES = 30
MOST_VALUE_ROWS = 2_000
"""Rows read to find a value whose words occur together more often than ``VALUE_CANDIDATES``."""
PAGE = 200
"""Rows read at a time."""
MIN_PREFIX = 3
"""A prefix shorter than this matches a large share of all words and is slow to search."""
RERANKED = 50
"""Candidates that are ranked again together with their neighbours."""
STANDALONE = (EntryKind.DIGEST, EntryKind.NOTE)
"""Kinds whose neighbours in the index are unrelated to them."""
DUPLICATE_SHARE = 0.9
"""Two texts that share this fraction of their words count as duplicates."""
KEPT_DUPLICATES = 2
"""Duplicates that keep their rank: either may be the reference that is wanted; further ones come last."""
AGENT_OUTPUT_SHARE = 0.1
"""Share of tool outputs among the candidates above which the weights for agent sessions are used."""
JOINED_WORDS = 12
"""Words at the start of a question of which neighbours are tried as one name (``alpha session``)."""
LONGEST_MERGED = 1_600
"""Most characters of a hit merged from several pieces of one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search request."""

    text: str
    at: str
    """Time of asking, ISO 8601; ``last Tuesday`` is relative to it."""
    filters: Filters = ANYTHING
    limit: int = 10
    in_view: Callable[[Entry], bool] | None = None
    """Returns True for an entry that the model already sees; such entries are listed, not returned as hits.
    """


@dataclass(frozen=True, slots=True)
class MatchInfo:
    """Why a hit was found."""

    exact: tuple[str, ...] = ()
    """Exact values of the question that it contains."""
    terms: tuple[str, ...] = ()
    """Stems of the question that it contains."""
    share: float = 0.0
    """Share of the question's words, weighted by rarity, from 0 to 1."""
    around: float = 0.0
    """The same for it together with its neighbours."""
    meaning: float | None = None
    """Cosine similarity to the question, from -1 to 1; None without vectors."""
    speaker: bool = False
    """The question names its speaker."""
    date: bool = False
    """It mentions the time that the question names, or was said then."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A search result."""

    entry: Entry
    """The entry found."""
    key: int
    """Its key in the index."""
    score: float
    """Comparable within one search; higher is better."""
    why: MatchInfo


class SearchResult(NamedTuple):
    """The result of a search."""

    hits: list[SearchHit]
    """Best first; adjoining pieces of one message are one hit."""
    in_view: list[Entry]
    """Entries among the best that the model already sees."""


class ScoredCandidate(NamedTuple):
    """A candidate with its features."""

    candidate: Candidate
    lexical: LexicalFeatures
    dense: DenseFeatures | None
    """None without vectors."""
    exact: tuple[str, ...]
    """Exact values of the question that it contains."""
    order: tuple[float, ...]
    """Takes precedence over the score if the question is mostly exact values; else empty.

    The share of the values that it contains, as whole words and at all; then originals before digest lines.
    """
    score: float
    """The weighted sum of the features."""

    @property
    def row(self) -> IndexRow:
        """Its row in the index."""
        return self.candidate.row


def search(index: Index, workspace: str, query: Query, embedder: Embedder | None = None) -> list[SearchHit]:
    """Return the best hits, best first; with an embedder whose vectors the index has, also by meaning.

    If the question is mostly exact values (a path, an id, a quoted error), hits that contain them come first.
    """
    return find(index, workspace, query, embedder).hits


def find(index: Index, workspace: str, query: Query, embedder: Embedder | None = None) -> SearchResult:
    """Return the best hits, and what was left out because the model already sees it."""
    scored, entries = score_candidates(index, workspace, query, embedder)
    return SearchResult(_choose(_rank(scored), query.limit), entries)


def score_candidates(
    index: Index, workspace: str, query: Query, embedder: Embedder | None = None
) -> tuple[list[ScoredCandidate], list[Entry]]:
    """Return every candidate with its features, unordered, and the best entries that are in view.

    Two passes: the first scores all hits of the index without their surroundings; the second scores the best
    ``RERANKED`` of them and the messages beside them again, now with the text before and after each.
    """
    query = replace(query, filters=in_utc(query.filters))
    query_vector = embedder.embed([query.text])[0] if embedder else b""
    question = understand(query.text, date.fromisoformat(query.at[:10]))
    question, stats = _as_spelled(index, workspace, question)
    more = 2 if query.in_view else 1  # entries in view will be dropped
    keys = dict.fromkeys(
        key for wanted, filters, limit in _queries(question, stats, query_vector, query.filters)
        for key in index.find(workspace, wanted, filters, limit * more)
    )  # fmt: skip
    rows = index.rows(workspace, list(keys))
    rows += _deeper(index, workspace, question, query.filters, rows)

    # First pass: each hit by itself.
    candidates = to_candidates(question, rows)
    extractor = FeatureExtractor(question, stats, candidates)
    weights = _weights(_kind(candidates), bool(query_vector))
    scored, best_in_view = _without_visible(_score(extractor, candidates, query_vector, weights), query)
    best = nlargest(RERANKED, scored, key=lambda item: (item.order, item.score))
    matched = {item.row.key: item.candidate.own_terms for item in best}

    # Second pass: the best hits with their neighbours. A digest or note beside a hit is unrelated to it.
    rows = index.rows(workspace, list(matched), around=1)
    rows = [row for row in rows if row.key in matched or row.entry.kind not in STANDALONE]
    rescored = _score(extractor, to_candidates(question, rows, matched), query_vector, weights)

    # A neighbour was not searched for, so it is checked against the filters and the view here.
    visible = query.in_view or (lambda _: False)
    shown = [
        item
        for item in rescored
        if _passes(query.filters, item.row.entry) and (item.row.key in matched or not visible(item.row.entry))
    ]
    return shown, best_in_view


def _as_spelled(index: Index, workspace: str, question: ParsedQuestion) -> tuple[ParsedQuestion, IndexStats]:
    """Return the question in the spelling of the index: names joined, typos corrected."""
    stop = stop_words()
    names = [term for term in name_terms(question.text) if term not in question.terms and term not in stop]
    candidates = (*question.terms, *names)
    stats, _ = index.stats(workspace, candidates, spelling=True)
    spelled = dict.fromkeys(near for term in candidates for near in stats.near.get(term) or (term,))
    joined = joined_terms(list(surface(question.text))[:JOINED_WORDS])
    index_stats, _ = index.stats(workspace, [term for term in joined if term not in spelled])
    spelled |= dict.fromkeys(term for term, count in index_stats.having.items() if count)
    having = {**stats.having, **index_stats.having}
    return replace(question, terms=tuple(spelled)), replace(stats, having=having)


def _without_visible(
    scored: list[ScoredCandidate], query: Query
) -> tuple[list[ScoredCandidate], list[Entry]]:
    """Return the candidates that are not in view, and the best of those that are."""
    visible = query.in_view
    if visible is None:
        return scored, []
    hidden = {item.row.key for item in scored if visible(item.row.entry)}
    best = [
        item.row.entry
        for item in _rank(scored)[: query.limit]
        if item.row.key in hidden and (item.exact or item.candidate.own_terms.at)
    ]
    return [item for item in scored if item.row.key not in hidden], best


def _kind(candidates: Sequence[Candidate]) -> str:
    """Return which weights apply, ``agent`` or ``chat``, by the share of tool outputs."""
    outputs = sum(candidate.row.entry.role == "tool" for candidate in candidates)
    return "agent" if outputs > AGENT_OUTPUT_SHARE * len(candidates) else "chat"


def _score(
    extractor: FeatureExtractor,
    candidates: Sequence[Candidate],
    query_vector: bytes,
    weights: Sequence[float],
) -> list[ScoredCandidate]:
    """Return the candidates with their features, weighted by ``weights``."""
    has_vectors = query_vector and candidates
    meanings = dense_features(query_vector, candidates) if has_vectors else [None] * len(candidates)
    scored = []
    for candidate, meaning in zip(candidates, meanings, strict=True):
        exact = extractor.exact(candidate)
        features = extractor.lexical(candidate, exact)
        is_original = float(candidate.row.entry.kind is not EntryKind.DIGEST)
        order = (features.exact_alone, features.exact, is_original) if extractor.question.exacting else ()
        score = sum(map(mul, features + (meaning or ()), weights))
        scored.append(ScoredCandidate(candidate, features, meaning, exact, order, score))
    return scored


def _deeper(
    index: Index, workspace: str, question: ParsedQuestion, filters: Filters, rows: Sequence[IndexRow]
) -> list[IndexRow]:
    """Return rows with an exact value that no candidate contains; its words may be common elsewhere."""
    # Fewer rows than requested means that all of them were seen.
    if not question.values or len(rows) < VALUE_CANDIDATES:
        return []
    result: dict[int, IndexRow] = {}
    known = {row.key for row in rows}
    texts = [row.entry.text for row in rows]
    for value in question.values:
        phrase = tuple(terms(value))
        if phrase and not any(occurs_in(value, text) for text in texts):
            keys = index.find(workspace, Wanted(phrase=phrase), filters, MOST_VALUE_ROWS)[VALUE_CANDIDATES:]
            new = [key for key in keys if key not in known]
            result |= _holding(
                value, (index.rows(workspace, new[n : n + PAGE]) for n in range(0, len(new), PAGE))
            )
    return list(result.values())


def _holding(value: str, pages: Iterable[Sequence[IndexRow]]) -> dict[int, IndexRow]:
    """Return the first rows that contain a value, by key; reads no more pages than needed."""
    holding = (row for page in pages for row in page if occurs_in(value, row.entry.text))
    return {row.key: row for row in islice(holding, VALUE_CANDIDATES)}


def neighbours(index: Index, workspace: str, hit: SearchHit, around: int = 2) -> list[Entry]:
    """Return the entries around a hit, including it, in order."""
    rows = index.rows(workspace, [hit.key], around)
    return [row.entry for row in sorted(rows, key=lambda row: row.place)]


def _queries(
    question: ParsedQuestion, stats: IndexStats, query_vector: bytes, filters: Filters
) -> Iterator[tuple[Wanted, Filters, int]]:
    """Yield what to look for, with which filters, and how many of each."""
    for value in question.values:
        if phrase := tuple(terms(value)):
            yield Wanted(phrase=phrase), filters, VALUE_CANDIDATES
            if len(phrase[-1]) >= MIN_PREFIX:
                yield Wanted(phrase=phrase, last_is_prefix=True), filters, VALUE_CANDIDATES
    weighed = tuple((term, rarity(stats, term)) for term in question.terms)
    days = marks_to_find(question.spans)
    if weighed:
        yield Wanted(terms=weighed), filters, WORDS_CANDIDATES
    if days:
        yield Wanted(terms=weighed, days=days), filters, DATE_CANDIDATES
        yield Wanted(days=days), filters, DATE_CANDIDATES
    # Separate searches, because long answers would crowd out short user messages, and vice versa.
    for role in _roles_meant(question) if weighed and not filters.roles else ():
        theirs = replace(filters, roles=(role,))
        yield Wanted(terms=weighed), theirs, ROLE_CANDIDATES
        if days:
            yield Wanted(days=days), theirs, DATE_CANDIDATES
    if query_vector:
        yield Wanted(vector=query_vector), filters, MEANING_CANDIDATES


def _roles_meant(question: ParsedQuestion) -> Iterator[str]:
    if question.of_me:
        yield "user"
    if question.of_you:
        yield "assistant"


def _passes(filters: Filters, entry: Entry) -> bool:
    """Return True if an entry matches the filters; a neighbour of a hit may not."""
    return (
        (not filters.sessions or entry.session in filters.sessions)
        and (not filters.kinds or entry.kind in filters.kinds)
        and (not filters.roles or entry.role in filters.roles)
        and (not filters.files or not set(filters.files).isdisjoint(entry.files))
        and entry.trust >= filters.trust
        and (not filters.after or entry.time >= filters.after)
        and (not filters.before or entry.time < filters.before)
    )


def _rank(scored: Iterable[ScoredCandidate]) -> list[ScoredCandidate]:
    return sorted(scored, key=lambda item: (item.order, item.score, item.row.key), reverse=True)


def _choose(ranked: Sequence[ScoredCandidate], limit: int) -> list[SearchHit]:
    """Return the first hits; the third and later duplicates of a text come last.

    Two are kept, because each is a different reference and either may be the one wanted. A piece that
    continues a chosen one is merged with it.
    """
    chosen: list[tuple[SearchHit, frozenset[str]]] = []
    waiting: list[SearchHit] = []
    for item in ranked:
        hit = _hit(item)
        at = next((n for n, (other, _) in enumerate(chosen) if _continues(hit.entry, other.entry)), None)
        if at is not None:
            other, words = chosen[at]
            chosen[at] = (replace(other, entry=_together(other.entry, hit.entry)), words)
            continue
        if len(chosen) == limit:
            break
        words = frozenset(item.row.analysed.terms.split())
        if sum(_alike(words, other) for _, other in chosen) >= KEPT_DUPLICATES:
            waiting.append(hit)
        else:
            chosen.append((hit, words))
    return [*(hit for hit, _ in chosen), *waiting][:limit]


def _continues(entry: Entry, other: Entry) -> bool:
    """Return True if two pieces of one message overlap or adjoin, and are not too long together."""
    if entry.ref != other.ref or entry.session != other.session:
        return False
    start, end = min(entry.start, other.start), max(_end(entry), _end(other))
    return end - start <= min(LONGEST_MERGED, len(entry.text) + len(other.text))


def _end(entry: Entry) -> int:
    return entry.start + len(entry.text)


def _together(piece: Entry, other: Entry) -> Entry:
    """Return two pieces of one message as one; what they share occurs once."""
    first, second = sorted((piece, other), key=lambda entry: entry.start)
    return first._replace(text=first.text + second.text[_end(first) - second.start :])


def _alike(words: frozenset[str], other: frozenset[str]) -> bool:
    shorter, longer = sorted((len(words), len(other)))
    if shorter < DUPLICATE_SHARE * longer:  # cannot share enough words: spares most pairs the set operations
        return False
    shared = len(words & other)
    return shared >= DUPLICATE_SHARE * (shorter + longer - shared)


def _hit(item: ScoredCandidate) -> SearchHit:
    features = item.lexical
    why = MatchInfo(
        item.exact,
        tuple(item.candidate.own_terms.at),
        round(features.covered, 3),
        round(features.window_covered, 3),
        item.dense.meaning if item.dense else None,
        speaker=features.speaker > 0,
        date=features.date_named > 0 or features.date_said > 0,
    )
    return SearchHit(item.row.entry, item.row.key, item.score, why)


@cache
def _weights(kind: str, dense: bool) -> tuple[float, ...]:
    """Return the weights for a kind of session, with vectors or without."""
    read = tomllib.loads(files("clew.memory").joinpath("weights.toml").read_text(encoding="utf-8"))
    weights = read[kind]["dense" if dense else "lexical"]
    names = LexicalFeatures._fields + (DenseFeatures._fields if dense else ())
    return tuple(weights[name] for name in names)
