"""How well searching works on a benchmark: recall and nDCG, by turn and by session, per kind of question."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from clew.memory.datasets import Asked, Pool
from clew.memory.search import Query, search
from clew.memory.words import analyse
from clew.ports.index import Embedder, Index

DEEP = 40
"""How many hits are asked for: enough to have ten sessions among them, as a rule."""
WORKSPACE = "bench"
Figures: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one question."""

    asked: Asked
    figures: Figures


def fill(index: Index, pool: Pool) -> None:
    """Put a pool's turns into an index."""
    index.add(WORKSPACE, [analyse(entry) for entry in pool.entries])


def ask_all(index: Index, pool: Pool, embedder: Embedder | None = None) -> Iterator[Result]:
    """Ask a pool's questions; yield the figures of each."""
    for asked in pool.questions:
        query = Query(text=asked.text, at=asked.at, limit=DEEP)
        found = [(hit.entry.session, hit.entry.ref) for hit in search(index, WORKSPACE, query, embedder)]
        sessions = list(dict.fromkeys(session for session, _ in found))
        evidence = {session for session, _ in asked.evidence}
        by_turn = _figures("turn", found, asked.evidence)
        yield Result(asked, by_turn | _figures("session", sessions, evidence))


def _figures(level: str, found: Sequence[object], wanted: frozenset[object] | set[str]) -> Figures:
    gains = [1 / math.log2(rank + 2) for rank, one in enumerate(found[:10]) if one in wanted]
    best = [1 / math.log2(rank + 2) for rank in range(min(10, len(wanted)))]
    return {
        f"{level}_r5": sum(one in wanted for one in found[:5]) / len(wanted),
        f"{level}_r10": sum(one in wanted for one in found[:10]) / len(wanted),
        f"{level}_ndcg10": sum(gains) / sum(best),
    }


def summary(results: Sequence[Result]) -> dict[str, object]:
    """Return the means in percent: over the questions not used for tuning, of each kind, and of the rest."""
    held = [result for result in results if not result.asked.tuned_on]
    kinds: dict[str, list[Result]] = defaultdict(list)
    for result in held:
        kinds[result.asked.kind].append(result)
    tuned = [result for result in results if result.asked.tuned_on]
    return {
        **_means(held),
        "per_kind": {kind: _means(some) for kind, some in sorted(kinds.items())},
        "tuned_on": _means(tuned),
        "all": _means(results),
    }


def _means(results: Sequence[Result]) -> Mapping[str, float]:
    if not results:
        return {"questions": 0}
    names = results[0].figures
    return {
        "questions": len(results),
        **{name: round(100 * sum(r.figures[name] for r in results) / len(results), 1) for name in names},
    }
