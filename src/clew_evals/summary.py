"""From rows to a table: means over cuts, with confidence intervals by session.

An interval is found by the bootstrap: the sessions are drawn anew with repetition many times, and the middle
95 % of the means are kept. Whole sessions are drawn, as the cuts of one are not independent.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from clew.message import JsonObject
from clew_evals.score import METRICS
from clew_evals.study import StudyRow

SEED = 20_260
RESAMPLES = 500
"""Draws from which an interval is read."""
HALVINGS = 100
"""Times that the sessions are halved to compare the rankings of the halves."""
HEADLINE = "continuity"
"""What policies are ranked by: how well one can go on from their views."""
CONFIDENCE = 0.95
"""Of the intervals."""
CEILED = (
    "retained", "far", "rare", "hard", "user", "in_context", "in_context_far", "explained", "explained_far",
    "answered", "roundtrip",
)  # fmt: skip
"""What a ceiling is shown for: figures that depend on the room."""


IN_TOKENS = ("tokens", "rewritten", "refetch_tokens")
"""Metrics that are numbers of tokens, shown without decimals."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over cuts, and where it would lie with other sessions of the same kind."""

    value: float
    low: float
    high: float
    cuts: int
    sessions: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return where it would lie; None with a single session, which says nothing about others."""
        return (self.low, self.high) if self.sessions > 1 else None


@dataclass(frozen=True, slots=True)
class ResultLine:
    """One policy at one budget."""

    policy: str
    share: float
    cuts: int
    sessions: int
    means: dict[str, Mean]

    def cell(self, metric: str) -> str:
        """Return a mean as text for a table; a dash if it was never asked."""
        mean = self.means.get(metric)
        if mean is None:
            return "–"
        return f"{mean.value:,.0f}" if metric in IN_TOKENS else f"{mean.value:.2f}"

    def to_json(self) -> JsonObject:
        """Return the means under the names of the metrics, with their intervals."""
        values: JsonObject = {name: round(mean.value, 4) for name, mean in self.means.items()}
        intervals: JsonObject = {
            name: [round(end, 4) for end in mean.interval] if mean.interval else None
            for name, mean in self.means.items()
        }
        asked: JsonObject = {name: mean.cuts for name, mean in self.means.items()}
        return {
            "budget": self.share,
            "cuts": self.cuts,
            "sessions": self.sessions,
            **dict.fromkeys(METRICS),
            **values,
            "interval": intervals,
            "asked": asked,
        }


def summarise_rows(rows: Iterable[StudyRow]) -> list[ResultLine]:
    """Return a line for each policy and budget, in the order of the rows."""
    groups: defaultdict[tuple[str, float], list[StudyRow]] = defaultdict(list)
    for row in rows:
        groups[row.policy, row.share].append(row)
    return [_line(policy, share, rows) for (policy, share), rows in groups.items()]


def share_of_ceiling(line: ResultLine, ceiling: ResultLine) -> dict[str, float]:
    """Return how much of what a ceiling reaches a policy does, by metric."""
    both = (name for name in CEILED if name in line.means and name in ceiling.means)
    return {
        name: line.means[name].value / ceiling.means[name].value for name in both if ceiling.means[name].value
    }


def _line(policy: str, share: float, rows: Sequence[StudyRow]) -> ResultLine:
    sessions = list(dict.fromkeys(row.session for row in rows))
    draws = _draws(len(sessions))
    place = {session: i for i, session in enumerate(sessions)}
    means = {}
    for metric in METRICS:
        sums, counts = [0.0] * len(sessions), [0] * len(sessions)
        for row in rows:
            value = getattr(row.score, metric)
            if value is not None:
                sums[place[row.session]] += value
                counts[place[row.session]] += 1
        if any(counts):
            means[metric] = _mean(sums, counts, draws)
    return ResultLine(policy, share, len(rows), len(sessions), means)


def _mean(sums: Sequence[float], counts: Sequence[int], draws: Sequence[Sequence[int]]) -> Mean:
    """Return a mean; ``sums`` and ``counts`` are by session, each draw lists indices of sessions."""
    means = []
    for draw in draws:
        count = sum(map(counts.__getitem__, draw))
        if count:
            means.append(sum(map(sums.__getitem__, draw)) / count)
    means.sort()
    edge = int(len(means) * (1 - CONFIDENCE) / 2)
    return Mean(
        value=sum(sums) / sum(counts),
        low=means[edge],
        high=means[-1 - edge],
        cuts=sum(counts),
        sessions=sum(count > 0 for count in counts),
    )


def bootstrap_mean(sums: Sequence[float], counts: Sequence[int]) -> Mean:
    """Return the mean over cuts, given their sum and number by session, with its interval."""
    return _mean(sums, counts, _draws(len(sums)))


def difference(rows: Sequence[StudyRow], names: tuple[str, str], share: float, metric: str) -> Mean | None:
    """Return how far the first policy is ahead of the second, where both have a value; None without any."""
    values: dict[str, dict[tuple[str, float], float]] = {name: {} for name in names}
    """By policy, then by cut: its session, and how far into it."""
    for row in rows:
        value = getattr(row.score, metric)
        if row.policy in values and row.share == share and value is not None:
            values[row.policy][row.session, row.at] = value
    first, second = (values[name] for name in names)
    by_session: defaultdict[str, list[float]] = defaultdict(list)
    for cut in first.keys() & second.keys():
        by_session[cut[0]].append(first[cut] - second[cut])
    ordered = [by_session[session] for session in sorted(by_session)]
    return (
        bootstrap_mean([sum(item) for item in ordered], [len(item) for item in ordered]) if ordered else None
    )


def _draws(sessions: int) -> list[list[int]]:
    """Return sessions drawn with repetition, the same each time: cuts of one session are not independent."""
    source = random.Random(SEED)
    return [source.choices(range(sessions), k=sessions) for _ in range(RESAMPLES)]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two halves of the sessions rank the policies alike: Kendall's tau."""

    metric: str
    mean: float
    worst: float
    policies: int


def agreement(rows: Sequence[StudyRow], metric: str = HEADLINE) -> Agreement:
    """Halve the sessions at random, many times, and compare the rankings of the two halves."""
    by_session: defaultdict[str, list[StudyRow]] = defaultdict(list)
    for row in rows:
        by_session[row.session].append(row)
    sessions = sorted(by_session)
    policies = list(dict.fromkeys(row.policy for row in rows))
    source = random.Random(SEED)
    taus = []
    for _ in range(HALVINGS):
        source.shuffle(sessions)
        half = len(sessions) // 2
        first, second = (
            _plain_means([row for session in part for row in by_session[session]], metric)
            for part in (sessions[:half], sessions[half:])
        )
        if all(policy in first and policy in second for policy in policies):
            taus.append(
                kendall([first[policy] for policy in policies], [second[policy] for policy in policies])
            )
    if not taus:
        return Agreement(metric, 0.0, 0.0, len(policies))
    return Agreement(metric, sum(taus) / len(taus), min(taus), len(policies))


def _plain_means(rows: Iterable[StudyRow], metric: str) -> dict[str, float]:
    by_policy: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        value = getattr(row.score, metric)
        if value is not None:
            by_policy[row.policy].append(value)
    return {policy: sum(values) / len(values) for policy, values in by_policy.items()}


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's tau of two rankings: 1 if they agree, -1 if one is the other turned round."""
    pairs = list(combinations(range(len(first)), 2))
    if not pairs:
        return 1.0
    signs = (_sign(first[i] - first[j]) * _sign(second[i] - second[j]) for i, j in pairs)
    return sum(signs) / len(pairs)


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)
