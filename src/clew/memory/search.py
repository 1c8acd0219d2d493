"""Finding what was said: candidates from the index, ranked by what speaks for them."""

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

from clew.memory.features import DENSE, LEXICAL, Judge, Seen, look, rarity
from clew.memory.index.protocol import (
    ANYTHING,
    Embedder,
    Entry,
    EntryKind,
    Filters,
    Index,
    Row,
    Stats,
    Wanted,
)
from clew.memory.meaning import dense
from clew.memory.period import in_utc
from clew.memory.question import Question, stands_in, understand
from clew.memory.words import joined_terms, marks_to_find, name_terms, stop_words, surface, terms

BY_WORDS = 100
BY_ROLE = 100
BY_MEANING = 40
BY_DATE = 60
BY_VALUE = 30
DEEP = 2_000
"""How many are read for a value whose words stand together in more than the latest ones."""
PAGE = 200
"""How many of them at a time."""
TELLING = 3
"""Fewer letters are the beginning of a great share of all words; to look through them takes long."""
KEPT = 50
"""How many of them are looked at again, with their neighbours."""
APART = (EntryKind.DIGEST, EntryKind.NOTE)
"""What stands on its own: what is listed beside it has nothing to do with it."""
ALIKE = 0.9
"""Two texts with this share of their words in common say the same."""
COPIES = 2
OUTPUTS = 0.1
"""Share of outputs of tools among the candidates above which the weights for agents' sessions are used."""
MOST_JOINED = 12
"""Words of a question that are looked at for names in plain words."""
LONGEST = 1_600
"""Characters of a hit that several pieces of one message were put together to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is looked for."""

    text: str
    at: str
    """ISO 8601: when it is asked. ``last Tuesday`` is counted from here."""
    filters: Filters = ANYTHING
    limit: int = 10
    in_view: Callable[[Entry], bool] | None = None
    """Whether the model sees an entry anyway; such entries are listed, not returned as hits."""


@dataclass(frozen=True, slots=True)
class Why:
    """Why a hit was found."""

    exact: tuple[str, ...] = ()
    """Values of the question that stand in it to the letter."""
    terms: tuple[str, ...] = ()
    """Stems of the question's words that it has."""
    share: float = 0.0
    """How much of the question's words that is, from 0 to 1; rare words count more."""
    around: float = 0.0
    """The same of it together with its neighbours."""
    meaning: float | None = None
    """How near its vector is to the question's, from -1 to 1; None where it was not asked."""
    speaker: bool = False
    """The question names who said it."""
    date: bool = False
    """It speaks of the time the question names, or was said then."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found."""

    entry: Entry
    """Where it stands, and what it says."""
    key: int
    """Its key in the index that found it."""
    score: float
    """What it is worth beside the other hits of the same search; higher is better."""
    why: Why


class Found(NamedTuple):
    """The result of a search."""

    hits: list[Hit]
    """Best first; neighbouring pieces of one message are one hit."""
    in_view: list[Entry]
    """What would have been among the best, had the model not seen it already."""


class Judged(NamedTuple):
    """A candidate with its features."""

    seen: Seen
    features: tuple[float, ...]
    """Those of ``LEXICAL`` and, with vectors, of ``DENSE``, in that order."""
    exact: tuple[str, ...]
    """Values of the question that it holds to the letter."""
    order: tuple[float, ...]
    """What comes before any score: for a question that is mostly values, how much of them it holds; then
    what was said before a digest's line about it."""
    worth: float
    """The weighted sum of the features."""


def search(index: Index, workspace: str, query: Query, embedder: Embedder | None = None) -> list[Hit]:
    """Return the best hits, best first; with an embedder whose vectors the index has, by meaning too.

    If the question is mostly exact values (a path, an id, a quoted error), what holds them comes first.
    """
    return find(index, workspace, query, embedder).hits


def find(index: Index, workspace: str, query: Query, embedder: Embedder | None = None) -> Found:
    """Return the best hits, and what was left out because the model sees it anyway."""
    judged, seen = judge(index, workspace, query, embedder)
    return Found(_chosen(_ranked(judged), query.limit), seen)


def judge(
    index: Index, workspace: str, query: Query, embedder: Embedder | None = None
) -> tuple[list[Judged], list[Entry]]:
    """Return every candidate with its features, in no order, and what of the best is in view."""
    query = replace(query, filters=in_utc(query.filters))
    asked = embedder.embed([query.text])[0] if embedder else b""
    question = understand(query.text, date.fromisoformat(query.at[:10]))
    question, stats = _as_spelled(index, workspace, question)
    more = 2 if query.in_view else 1  # what is in view must not take the places of what is not
    keys = dict.fromkeys(
        key for wanted, filters, limit in _wanted(question, stats, asked, query.filters)
        for key in index.find(workspace, wanted, filters, limit * more)
    )  # fmt: skip
    rows = index.rows(workspace, list(keys))
    rows += _deeper(index, workspace, question, query.filters, rows)
    alone = look(question, rows)
    court = Judge(question, stats, alone)
    weights = _weights(_kind(alone), bool(asked))
    judged = _judged(court, alone, asked, weights)
    judged, seen = _without_visible(judged, query)
    first = nlargest(KEPT, judged, key=lambda one: (one.order, one.worth))
    found = {one.seen.row.key: one.seen.said for one in first}
    rows = index.rows(workspace, list(found), around=1)
    beside = [row for row in rows if row.key in found or row.entry.kind not in APART]
    again = _judged(court, look(question, beside, found), asked, weights)
    visible = query.in_view or (lambda _: False)
    return [
        one
        for one in again
        if _passes(query.filters, one.seen.row.entry)
        and (one.seen.row.key in found or not visible(one.seen.row.entry))
    ], seen


def _as_spelled(index: Index, workspace: str, question: Question) -> tuple[Question, Stats]:
    """Return the question in the words that the index has: names joined, slips of the keyboard corrected."""
    stop = stop_words()
    names = [term for term in name_terms(question.text) if term not in question.terms and term not in stop]
    meant = (*question.terms, *names)
    stats, _ = index.stats(workspace, meant, spelling=True)
    spelled = dict.fromkeys(near for term in meant for near in stats.near.get(term) or (term,))
    joined = joined_terms(list(surface(question.text))[:MOST_JOINED])
    there, _ = index.stats(workspace, [term for term in joined if term not in spelled])
    spelled |= dict.fromkeys(term for term, count in there.having.items() if count)
    having = {**stats.having, **there.having}
    return replace(question, terms=tuple(spelled)), replace(stats, having=having)


def _without_visible(judged: list[Judged], query: Query) -> tuple[list[Judged], list[Entry]]:
    """Return the candidates that are not in view, and of the best of all those that are."""
    visible = query.in_view
    if visible is None:
        return judged, []
    hidden = {one.seen.row.key for one in judged if visible(one.seen.row.entry)}
    best = [
        one
        for one in _ranked(judged)[: query.limit]
        if one.seen.row.key in hidden and (one.exact or one.seen.said.at)
    ]
    return [one for one in judged if one.seen.row.key not in hidden], [one.seen.row.entry for one in best]


def _kind(seen: Sequence[Seen]) -> str:
    """Return what is searched, by the candidates: the work of an agent, or conversations."""
    outputs = sum(one.row.entry.role == "tool" for one in seen)
    return "agent" if outputs > OUTPUTS * len(seen) else "chat"


def _judged(court: Judge, seen: Sequence[Seen], asked: bytes, weights: Sequence[float]) -> list[Judged]:
    meanings = dense(asked, seen) if asked and seen else [()] * len(seen)
    judged = []
    for one, near in zip(seen, meanings, strict=True):
        exact = court.exact(one)
        shares = court.exactness(one, exact)
        is_original = float(one.row.entry.kind is not EntryKind.DIGEST)
        order = (*shares, is_original) if court.question.exacting else ()
        features = court.lexical(one) + shares + near
        judged.append(Judged(one, features, exact, order, sum(map(mul, features, weights))))
    return judged


def _deeper(
    index: Index, workspace: str, question: Question, filters: Filters, rows: Sequence[Row]
) -> list[Row]:
    """Return what holds a value that none of the candidates does: its words may stand together often."""
    # Fewer rows than were asked for means that all there are have been seen.
    if not question.values or len(rows) < BY_VALUE:
        return []
    found: dict[int, Row] = {}
    known = {row.key for row in rows}
    texts = [row.entry.text for row in rows]
    for value in question.values:
        phrase = tuple(terms(value))
        if phrase and not any(stands_in(value, text) for text in texts):
            keys = index.find(workspace, Wanted(phrase=phrase), filters, DEEP)[BY_VALUE:]
            new = [key for key in keys if key not in known]
            found |= _holding(
                value, (index.rows(workspace, new[n : n + PAGE]) for n in range(0, len(new), PAGE))
            )
    return list(found.values())


def _holding(value: str, pages: Iterable[Sequence[Row]]) -> dict[int, Row]:
    """Return the first rows in which a value stands, by their keys; no page is read beyond these."""
    holding = (row for page in pages for row in page if stands_in(value, row.entry.text))
    return {row.key: row for row in islice(holding, BY_VALUE)}


def neighbours(index: Index, workspace: str, hit: Hit, around: int = 2) -> list[Entry]:
    """Return what was said around a hit, the hit included, in order."""
    rows = index.rows(workspace, [hit.key], around)
    return [row.entry for row in sorted(rows, key=lambda row: row.place)]


def _wanted(
    question: Question, stats: Stats, asked: bytes, filters: Filters
) -> Iterator[tuple[Wanted, Filters, int]]:
    """Yield what to look for, where, and how much of each."""
    for value in question.values:
        if phrase := tuple(terms(value)):
            yield Wanted(phrase=phrase), filters, BY_VALUE
            if len(phrase[-1]) >= TELLING:
                yield Wanted(phrase=phrase, beginning=True), filters, BY_VALUE
    weighed = tuple((term, rarity(stats, term)) for term in question.terms)
    days = marks_to_find(question.spans)
    if weighed:
        yield Wanted(terms=weighed), filters, BY_WORDS
    if days:
        yield Wanted(terms=weighed, days=days), filters, BY_DATE
        yield Wanted(days=days), filters, BY_DATE
    # Long answers would crowd out what the asker said in passing, and the other way round.
    for role in _meant(question) if weighed and not filters.roles else ():
        theirs = replace(filters, roles=(role,))
        yield Wanted(terms=weighed), theirs, BY_ROLE
        if days:
            yield Wanted(days=days), theirs, BY_DATE
    if asked:
        yield Wanted(vector=asked), filters, BY_MEANING


def _meant(question: Question) -> Iterator[str]:
    if question.of_me:
        yield "user"
    if question.of_you:
        yield "assistant"


def _passes(filters: Filters, entry: Entry) -> bool:
    """Tell whether an entry is what is asked for: a neighbour of a hit may be something else."""
    return (
        (not filters.sessions or entry.session in filters.sessions)
        and (not filters.kinds or entry.kind in filters.kinds)
        and (not filters.roles or entry.role in filters.roles)
        and (not filters.files or not set(filters.files).isdisjoint(entry.files))
        and entry.trust >= filters.trust
        and (not filters.after or entry.time >= filters.after)
        and (not filters.before or entry.time < filters.before)
    )


def _ranked(judged: Iterable[Judged]) -> list[Judged]:
    return sorted(judged, key=lambda one: (one.order, one.worth, one.seen.row.key), reverse=True)


def _chosen(ranked: Sequence[Judged], limit: int) -> list[Hit]:
    """Return the first hits; what was said twice already waits until all others had their turn.

    Twice, because two places that say the same are two references, and each may be the one that is meant.
    A piece that continues one that was chosen is put together with it.
    """
    chosen: list[tuple[Hit, frozenset[str]]] = []
    waiting: list[Hit] = []
    for one in ranked:
        hit = _hit(one)
        at = next((n for n, (other, _) in enumerate(chosen) if _continues(hit.entry, other.entry)), None)
        if at is not None:
            other, words = chosen[at]
            chosen[at] = (replace(other, entry=_together(other.entry, hit.entry)), words)
            continue
        if len(chosen) == limit:
            break
        words = frozenset(one.seen.row.analysed.terms.split())
        if sum(_alike(words, other) for _, other in chosen) >= COPIES:
            waiting.append(hit)
        else:
            chosen.append((hit, words))
    return [*(hit for hit, _ in chosen), *waiting][:limit]


def _continues(one: Entry, other: Entry) -> bool:
    """Whether two pieces of one message overlap or adjoin, and are not too long together."""
    if one.ref != other.ref or one.session != other.session:
        return False
    start, end = min(one.start, other.start), max(_end(one), _end(other))
    return end - start <= min(LONGEST, len(one.text) + len(other.text))


def _end(entry: Entry) -> int:
    return entry.start + len(entry.text)


def _together(one: Entry, other: Entry) -> Entry:
    first, second = sorted((one, other), key=lambda entry: entry.start)
    return first._replace(text=first.text + second.text[_end(first) - second.start :])


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= ALIKE * len(one | other) if one or other else True


def _hit(one: Judged) -> Hit:
    features = dict(zip(LEXICAL + DENSE, one.features, strict=False))
    why = Why(
        one.exact,
        tuple(one.seen.said.at),
        round(features["covered"], 3),
        round(features["window_covered"], 3),
        features.get("meaning"),
        speaker=features["speaker"] > 0,
        date=features["date_named"] > 0 or features["date_said"] > 0,
    )
    return Hit(one.seen.row.entry, one.seen.row.key, one.worth, why)


@cache
def _weights(kind: str, dense: bool) -> tuple[float, ...]:
    """Return the weights for a kind of session, with vectors or without."""
    read = tomllib.loads(files("clew.memory").joinpath("weights.toml").read_text(encoding="utf-8"))
    weights = read[kind]["dense" if dense else "lexical"]
    return tuple(weights[name] for name in (LEXICAL + DENSE if dense else LEXICAL))
