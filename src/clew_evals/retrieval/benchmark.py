"""Measure search on a benchmark and against plain BM25, grep and reading everything: recall and nDCG."""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from clew.memory.index import Embedder, Entry, Index
from clew.memory.indexing import passages
from clew.memory.search import Query
from clew.memory.selection import recall
from clew.memory.terms import analyse, stop_words, terms
from clew_evals.retrieval.datasets import BenchmarkQuestion, Pool

K1, B = 1.2, 0.75
"""The usual parameters of BM25: how fast repeated words saturate, how much long entries are held back."""
_WORD = re.compile(r"\w+")
Search: TypeAlias = Callable[[str, int], list[Entry]]
"""Takes a question and a number of entries; returns the best first."""


def bm25(entries: Sequence[Entry], split: Callable[[str], list[str]] | None = None) -> Search:
    """Return a BM25 search, speaker included; by default of words in lower case, unstemmed."""
    split = split or _words
    words = [Counter(split(f"{entry.speaker} {entry.text}")) for entry in entries]
    lengths = [sum(counts.values()) for counts in words]
    mean = sum(lengths) / max(1, len(lengths))
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for n, counts in enumerate(words):
        for word, count in counts.items():
            postings[word].append((n, count))

    def search(question: str, limit: int) -> list[Entry]:
        scores: Counter[int] = Counter()
        for word in set(split(question)):
            found = postings.get(word, [])
            rarity = math.log(1 + (len(entries) - len(found) + 0.5) / (len(found) + 0.5))
            for n, count in found:
                scores[n] += rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[n] / mean))  # type: ignore[assignment]
        return [entries[n] for n, _ in scores.most_common(limit)]

    return search


def grep(entries: Sequence[Entry]) -> Search:
    """Return a grep for each word of a question: most distinct words first, then the latest."""
    texts = [entry.text.lower() for entry in entries]

    def search(question: str, limit: int) -> list[Entry]:
        words = {word for word in _words(question) if word not in stop_words()}
        found = [(sum(word in text for word in words), n) for n, text in enumerate(texts)]
        return [entries[n] for count, n in sorted(found, reverse=True)[:limit] if count]

    return search


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _stems(text: str) -> list[str]:
    return [term for term in terms(text) if term not in stop_words()]


DEEP = 40
"""Hits fetched per question: usually enough for ten sessions."""
WORKSPACE = "bench"
PER_TOKEN = 4
"""Characters per token, to estimate the tokens of what a search returns."""
ROUNDS = 500
"""Bootstrap samples for the intervals."""
Figures: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one question."""

    asked: BenchmarkQuestion
    figures: Figures


def fill(index: Index, pool: Pool) -> None:
    """Index a pool's turns, split into pieces as the product does."""
    index.add(WORKSPACE, [analyse(piece) for entry in pool.entries for piece in passages(entry)])


def ask_all(index: Index, pool: Pool, embedder: Embedder | None = None) -> Iterator[Result]:
    """Ask a pool's questions the way ``Memory.search`` does; yield the figures of each."""
    for asked in pool.questions:
        query = Query(text=asked.text, at=asked.at, limit=DEEP)
        hits = recall(index, WORKSPACE, query, embedder).hits
        yield _result(asked, [hit.entry for hit in hits])


def ask_baselines(pool: Pool) -> Iterator[tuple[str, Result]]:
    """Yield the figures of BM25 (plain, and of stems without stop words), grep, and reading everything."""
    searches: dict[str, Search] = {
        "bm25": bm25(pool.entries),
        "bm25 of stems": bm25(pool.entries, _stems),
        "grep": grep(pool.entries),
    }
    for asked in pool.questions:
        for name, search in searches.items():
            yield name, _result(asked, search(asked.text, DEEP))
        everything = dict.fromkeys(_result(asked, []).figures, 1.0)
        size = sum(len(entry.text) for entry in pool.entries) / PER_TOKEN
        yield "full context", Result(asked, {**everything, "tokens": size})


def _result(asked: BenchmarkQuestion, entries: Sequence[Entry]) -> Result:
    turns = list(dict.fromkeys((entry.session, entry.ref) for entry in entries))
    sessions = list(dict.fromkeys(entry.session for entry in entries))
    evidence = {session for session, _ in asked.evidence}
    tokens = {"tokens": sum(len(entry.text) for entry in entries[:5]) / PER_TOKEN}
    return Result(
        asked, _figures("turn", turns, asked.evidence) | _figures("session", sessions, evidence) | tokens
    )


def _figures(level: str, found: Sequence[object], wanted: frozenset[object] | set[str]) -> Figures:
    """Return the figures of what was found, best first: ``turn_r10`` is the recall of turns among ten."""
    gains = [1 / math.log2(rank + 2) for rank, item in enumerate(found[:10]) if item in wanted]
    best = [1 / math.log2(rank + 2) for rank in range(min(10, len(wanted)))]
    in_five = sum(item in wanted for item in found[:5])
    return {
        f"{level}_any5": float(in_five > 0),
        f"{level}_all5": float(in_five == len(wanted)),
        f"{level}_r5": in_five / len(wanted),
        f"{level}_r10": sum(item in wanted for item in found[:10]) / len(wanted),
        f"{level}_ndcg10": sum(gains) / sum(best),
    }


def summary(results: Sequence[Result]) -> dict[str, object]:
    """Return the means in percent: over held-out questions, per kind, over tuning questions, over all."""
    held_out = [result for result in results if not result.asked.tuned_on]
    kinds: dict[str, list[Result]] = defaultdict(list)
    for result in held_out:
        kinds[result.asked.kind].append(result)
    tuned = [result for result in results if result.asked.tuned_on]
    return {
        **_means(held_out),
        "turn_r10_interval": _interval([result.figures["turn_r10"] for result in held_out]),
        "per_kind": {kind: _means(some) for kind, some in sorted(kinds.items())},
        "tuned_on": _means(tuned),
        "all": _means(results),
    }


def below(results: Sequence[Result], baseline: Sequence[Result]) -> dict[str, dict[str, object]]:
    """Return the kinds of held-out questions with a lower share@10 than a baseline, with paired intervals."""
    differences: dict[str, list[float]] = defaultdict(list)
    for result, other in zip(results, baseline, strict=True):
        if not result.asked.tuned_on:
            difference = result.figures["turn_r10"] - other.figures["turn_r10"]
            differences[result.asked.kind].append(difference)
    return {
        kind: {
            "questions": len(values),
            "difference": round(100 * sum(values) / len(values), 1),
            "interval": _interval(values),
        }
        for kind, values in sorted(differences.items())
        if sum(values) < 0
    }


def _means(results: Sequence[Result]) -> Mapping[str, float]:
    if not results:
        return {"questions": 0}
    names = results[0].figures
    totals = {name: sum(r.figures[name] for r in results) / len(results) for name in names}
    percents = {name: round(100 * mean, 1) for name, mean in totals.items() if name != "tokens"}
    return {"questions": len(results), **percents, "tokens": round(totals["tokens"])}


def _interval(values: Sequence[float]) -> list[float]:
    """Return the 95 % bootstrap interval of a mean in percent."""
    if not values:
        return []
    rng = random.Random(1)
    means = sorted(sum(rng.choices(values, k=len(values))) / len(values) for _ in range(ROUNDS))
    return [round(100 * means[int(share * ROUNDS)], 1) for share in (0.025, 0.975)]
