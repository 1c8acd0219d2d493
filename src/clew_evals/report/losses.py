"""What the sessions' own tools lost, as a person would say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from clew_evals.lost import OwnCompactions, ToolLoss
from clew_evals.probe import Probe
from clew_evals.questions import GAP
from clew_evals.summary import ResultLine, summarised

AROUND = 45
"""Characters on either side of a value that show what it was used for."""


def sides(judged: Sequence[ToolLoss]) -> list[ResultLine]:
    """Return the tools' own line and clew's."""
    # Each compaction had a budget of its own; they are averaged as one.
    return summarised(replace(row, share=0.0) for loss in judged for row in loss.rows())


def newest(judged: Sequence[ToolLoss], count: int) -> list[ToolLoss]:
    """Return the last compactions, the newest first."""
    return sorted(judged, key=lambda item: item.time or "", reverse=True)[:count]


def in_words(own: OwnCompactions) -> Iterator[str]:
    """Yield what the compactions lost, all together."""
    judged = own.judged
    if judged:
        before = _mean([loss.tokens_before for loss in judged])
        after = _mean([loss.tokens_after for loss in judged])
        tools = ", ".join(dict.fromkeys(loss.format for loss in judged))
        yield f"{before:,.0f} tokens became {after:,.0f} each time ({tools}; {len(judged)} judged)."
        yield from _gone(judged)
    for why, number in Counter(loss.why for loss in own.unjudged).items():
        yield f"Not judged: {number}, because {why}."


def _gone(judged: Sequence[ToolLoss]) -> Iterator[str]:
    values = sum(loss.asked.values for loss in judged)
    lost = sum(not probe.refetched for loss in judged for probe in loss.values)
    ours = sum(round((1 - (loss.ours.retained or 0.0)) * loss.asked.values) for loss in judged)
    yield (
        f"Of the values that the work needed afterwards, {lost:,} of {values:,} were gone; "
        f"after clew's compaction, in as many tokens, it would have been {ours:,}."
    )
    again = _mean([loss.score.refetch_tokens or 0.0 for loss in judged])
    with_clew = _mean([loss.ours.refetch_tokens or 0.0 for loss in judged])
    yield (
        f"To fetch again what was gone takes {again:,.0f} tokens after each compaction; "
        f"after clew's, {with_clew:,.0f}."
    )
    duties = (("rules", "rules of the user's"), ("open", "open tasks"), ("files", "changed files"))
    gone = [
        f"{sum(len(getattr(loss, name)) for loss in judged):,} of {asked:,} {what}"
        for name, what in duties
        if (asked := sum(getattr(loss.asked, name) for loss in judged))
    ]
    if gone:
        yield f"Gone were also: {', '.join(gone)}."


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


class ValueUse(NamedTuple):
    """A value with the words around its use: ``curl localhost:``, ``8123``, `` | head``."""

    before: str
    value: str
    after: str


def use_of(probe: Probe) -> ValueUse:
    """Return how a value was used after the cut."""
    before, _, after = probe.question.partition(GAP)
    return ValueUse(before[-AROUND:].lstrip(), probe.value, after[:AROUND].rstrip())
