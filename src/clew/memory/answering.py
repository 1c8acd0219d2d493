"""Filter search hits: drop repetitions of the question and rank weak neighbours of a hit last."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from clew.memory.index.protocol import Embedder, Index
from clew.memory.search import Found, Hit, Query, find
from clew.memory.words import stop_words, terms

MEANS = 0.4
"""Cosine similarity from which a hit without any of the question's words counts.

This and the thresholds below were chosen by hand on LoCoMo and LongMemEval questions.
"""
RIDES = 0.5
"""A neighbour of a hit counts on its own if it has at least this fraction of the hit's word share."""
BRIEF = 400
"""Characters. A longer text with few of the question's words is about something else."""
NEWS = 3
"""New words (beyond the question's and the hit's) that a short neighbour needs; with fewer it adds nothing.
"""
MORE = 2
"""New words that a short neighbour without any of the question's words needs; "ok" and "fine" have one."""
SPARE = 10
"""Extra hits to fetch, because some are filtered out."""
ADDS_NOTHING = 0.1
"""Fraction of a text's words that may be new if it only repeats the question."""
_ASKS = re.compile(
    r"\W*(?:let me |i'll |i will )?"
    r"(?:what|which|who|whom|whose|where|when|why|how|did|do|does|is|are|was|were|can|could|should|would|"
    r"remind|tell|find|show|recall|search|look|check)\b|.*[?？]\W*\Z",
    re.IGNORECASE | re.DOTALL,
)
_LOOKING = frozenset(terms("let look search find check recall remember remind tell show ll"))
"""Words that announce a look-up and say nothing about its subject."""
_MESSAGE = re.compile(r"m(\d{1,18})")


def recall(
    index: Index,
    workspace: str,
    query: Query,
    embedder: Embedder | None = None,
    accept: Callable[[Hit], Hit | None] = lambda hit: hit,
) -> Found:
    """Return the hits that may answer a query. Used by ``Memory.search`` and by the retrieval benchmark.

    ``accept`` returns each hit as the caller may see it, or None to drop it.
    """
    found = find(index, workspace, replace(query, limit=query.limit + SPARE), embedder)
    hits = [accepted for hit in found.hits if (accepted := accept(hit))]
    return Found(answers(query.text, hits, query.limit), found.in_view[: query.limit])


def answers(query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Return the hits that may answer a query, best first.

    Drops repetitions of the question, and hits without any of its words that are long or add little. A
    neighbour with few of the words that is long or adds nothing new comes last.
    """
    asked = frozenset(_telling(query))
    real = [hit for hit in hits if (has_something(hit) or _goes_on(hit, asked)) and not is_echo(asked, hit)]
    there = {place: hit for hit in hits if (place := _place(hit))}
    riding = [hit for hit in real if _rides(hit, asked, there)]
    return [*(hit for hit in real if hit not in riding), *riding][:limit]


def has_something(hit: Hit) -> bool:
    """Return True if a hit matches the question in any way."""
    why = hit.why
    return bool(why.exact or why.share > 0 or why.date or why.speaker) or (why.meaning or 0.0) >= MEANS


def _goes_on(hit: Hit, asked: frozenset[str]) -> bool:
    """Return True if a hit without any of the words briefly continues a neighbour that has some.

    An answer often has none of the words of its question: "When does it start?" "Next Friday, in Bergen."
    """
    text = hit.entry.text
    return hit.why.around > 0 and len(text) <= BRIEF and len(set(_telling(text)) - asked) >= MORE


def is_echo(asked: frozenset[str], hit: Hit) -> bool:
    """Return True if a hit only asks what is asked now: the question itself, or an earlier form of it."""
    text = hit.entry.text
    if not _ASKS.match(text):
        return False
    words = set(_telling(text)) - _LOOKING
    return len(words - asked) <= ADDS_NOTHING * len(words)


def _rides(hit: Hit, asked: frozenset[str], there: Mapping[tuple[str, int], Hit]) -> bool:
    place = _place(hit)
    if place is None or hit.why.exact:
        return False
    session, number = place
    beside = [there[at] for at in ((session, number - 1), (session, number + 1)) if at in there]
    carrier = max(beside, key=lambda one: one.why.share, default=hit)
    if hit.why.share >= RIDES * carrier.why.share:
        return False
    news = set(_telling(hit.entry.text)) - asked - set(_telling(carrier.entry.text))
    return len(hit.entry.text) > BRIEF or len(news) < NEWS


def _place(hit: Hit) -> tuple[str, int] | None:
    found = _MESSAGE.fullmatch(hit.entry.ref)
    return (hit.entry.session, int(found[1])) if found else None


def _telling(text: str) -> list[str]:
    stop = stop_words()
    return [term for term in terms(text[:2_000]) if term not in stop]
