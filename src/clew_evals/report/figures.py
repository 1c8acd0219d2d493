"""The figures of a report: which measured values go into which plot.

``against_budget(lines, "continuity", tint)`` returns SVG text: a line per policy over the shares of the
tokens.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from clew_evals.attacks import Assault, survival_share
from clew_evals.chains import Link
from clew_evals.policies import POLICIES
from clew_evals.report.svg import SHARES, Axis, ChartPoint, Series, dots, lines
from clew_evals.score import RANKED
from clew_evals.study import StudyRow
from clew_evals.summary import HEADLINE, ResultLine, summarise_rows
from clew_evals.tool_compactions import OURS

CLASSES = ("retained", "far", "rare", "hard", "user", "in_context", "explained", "answered")
DUTIES = ("constraints", "decisions", "rules", "open", "files", "failed", "tests")
STEPS = (50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000)
MOST_TICKS = 6
SLACK = 1.1
"""A policy that takes more than this many times its room ranks below those that keep to it."""
SECONDS = (0.001, 0.01, 0.1, 1.0, 10.0)
_Repeated = TypeVar("_Repeated", Link, Assault)
Tint = dict[str, str]
"""The colour of each policy, by name."""


def rank_lines(some: Iterable[ResultLine], budget: float = 1.0) -> list[ResultLine]:
    """Return lines, the best by the headline first; who took more than its room, and limits, come last."""

    def rank(line: ResultLine) -> tuple[int, float]:
        is_too_large = line.means["share"].value > budget * SLACK
        group = 2 if is_apart(line.policy) else 1 if is_too_large else 0
        return group, -line.means[HEADLINE].value if HEADLINE in line.means else 1.0

    return sorted(some, key=rank)


def is_apart(policy: str) -> bool:
    """Whether a policy is a cheat or a ceiling, not in the contest."""
    known = POLICIES.get(policy)
    return known is not None and (known.is_cheat or known.sees_future)


def against_budget(every: Sequence[ResultLine], metric: str, tint: Tint) -> str:
    """Draw a metric against the room that policies are given."""
    by_policy: defaultdict[str, list[ChartPoint]] = defaultdict(list)
    for line in sorted(every, key=lambda line: line.share):
        point = _point(line, metric, line.share)
        if point and _keeps_budget(line.policy):
            by_policy[line.policy].append(point)
    budgets = sorted({line.share for line in every})
    x = Axis(
        "share of the tokens (log)", tuple(budgets), tuple(f"{budget:.0%}" for budget in budgets), is_log=True
    )
    series = [_series(name, points) for name, points in by_policy.items()]
    return lines(series, x, replace(SHARES, title=metric), tint)


def side_by_side(some: Sequence[ResultLine], metric: str, tint: Tint) -> str:
    """Draw a metric for each policy."""
    rows = [(_with_size(line), [point]) for line in some if (point := _point(line, metric, 0))]
    colour = {_with_size(line): tint[line.policy] for line in some if line.policy in tint}
    return dots(rows, replace(SHARES, title=metric), colour)


def _with_size(line: ResultLine) -> str:
    """Return a policy's name; where it cannot aim at a size, with the size that it took."""
    return line.policy if _keeps_budget(line.policy) else f"{line.policy} ({line.means['share'].value:.0%})"


def by_class(some: Sequence[ResultLine], tint: Tint) -> str:
    """Draw one policy over all classes of what is asked: clew where it took part, else the best."""
    shown = next((line for line in some if line.policy == OURS), some[0])
    rows = [(name, [point]) for name in (*RANKED, *CLASSES, *DUTIES) if (point := _point(shown, name, 0))]
    colour = dict.fromkeys((name for name, _ in rows), tint.get(shown.policy, ""))
    return dots(rows, replace(SHARES, title=f"{shown.policy}: share kept"), colour)


def drift(links: Sequence[Link], metric: str, tint: Tint) -> str:
    """Draw a metric against the number of compactions."""
    return _over_times(links, metric, tint, lambda mine, n: _point(chain_line(mine, n), metric, n))


def under_attack(every: Sequence[Assault], tint: Tint) -> str:
    """Draw the share of rules that survive attacks against the number of compactions."""

    def point(mine: Sequence[Assault], times: int) -> ChartPoint:
        share = survival_share(assault for assault in mine if assault.times == times)
        return ChartPoint(times, share, share, share)

    return _over_times(every, "rules that survive", tint, point)


def _over_times(
    every: Sequence[_Repeated],
    title: str,
    tint: Tint,
    point: Callable[[Sequence[_Repeated], int], ChartPoint | None],
) -> str:
    """Draw a line per policy: a point for each number of compactions."""
    times = sorted({one.times for one in every})
    series = []
    for policy in dict.fromkeys(one.policy for one in every if _keeps_budget(one.policy)):
        mine = [one for one in every if one.policy == policy]
        if points := [found for number in times if (found := point(mine, number))]:
            series.append(_series(policy, points))
    x = Axis("compactions (log)", tuple(map(float, times)), tuple(map(str, times)), is_log=True)
    return lines(series, x, replace(SHARES, title=title), tint)


def chain_line(links: Iterable[Link], times: int) -> ResultLine:
    """Return one policy's means after so many compactions."""
    rows = [
        StudyRow(
            set=link.set,
            session=link.session,
            format="",
            at=1.0,
            tokens=0,
            probes=0,
            share=0.0,
            policy=link.policy,
            score=link.score,
        )
        for link in links
        if link.times == times
    ]
    return summarise_rows(rows)[0]


def _series(policy: str, points: Sequence[ChartPoint]) -> Series:
    return Series(policy, tuple(points), is_apart(policy), has_band=policy == OURS)


def _keeps_budget(policy: str) -> bool:
    known = POLICIES.get(policy)
    return known is None or known.keeps_budget


def cost(some: Sequence[ResultLine], metric: str, title: str, tint: Tint) -> str:
    """Draw what each policy costs, in tokens."""
    rows = [(line.policy, [point]) for line in some if (point := _point(line, metric, 0))]
    top = max((point.high for _, points in rows for point in points), default=1.0)
    step = next(step for step in STEPS if step * MOST_TICKS >= top or step == STEPS[-1])
    ticks = tuple(float(step * i) for i in range(-(-int(top) // step) + 1)) or (0.0, 1.0)
    labels = tuple(f"{tick:,.0f}" for tick in ticks)
    return dots(rows, Axis(title, ticks, labels), tint)


def pace(some: Sequence[ResultLine], tint: Tint) -> str:
    """Draw the time each policy takes, without a model."""
    rows = [(line.policy, [point]) for line in some if (point := _point(line, "seconds", 0))]
    labels = tuple(f"{tick:g}" for tick in SECONDS)
    return dots(rows, Axis("seconds per compaction (log)", SECONDS, labels, is_log=True), tint)


def _point(line: ResultLine, metric: str, x: float) -> ChartPoint | None:
    mean = line.means.get(metric)
    return ChartPoint(x, mean.value, mean.low, mean.high) if mean else None
