"""A session that outgrows its window again and again, against one compaction of it to the same size.

The messages come in one by one; whenever the view would exceed the window it is compacted to the target, and
once more at the cut. The other view is made of the same history at once, in as many tokens as the last view
of the chain took. What they differ in is what the chain lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from clew.errors import BudgetExceeded, CompactionRefused
from clew.message import Item, cut_points
from clew_evals.asking import needs_of
from clew_evals.chain import planted
from clew_evals.cuts import COUNTER, Cut, cuts_of
from clew_evals.files import SessionFile
from clew_evals.policies import Compact, EvalPolicy
from clew_evals.score import Score, refusal, score_of, scored
from clew_evals.study import Common, Progress, Study, mapped, mark, sessions_of
from clew_evals.summary import Mean, resampled

WINDOW, TARGET = 30_000, 10_000
GROWN = (
    "far", "roundtrip", "constraints", "rules", "retained", "continuity", "next_action", "goal", "redo",
    "reports", "current",
)  # fmt: skip
"""What is compared."""
LEAST_WINDOWS = 2
"""Of tokens before the cut, in windows: less makes no chain."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How one policy did at one cut: after a chain of compactions, and with one."""

    set: str
    session: str
    policy: str
    compactions: int
    chained: Score
    at_once: Score


class GrownView(NamedTuple):
    """The last view of a session that was compacted whenever it outgrew a window."""

    view: Sequence[Item]
    compactions: int
    refused: bool
    """The last compaction was refused: the view is larger than it should be."""


def grown(cut: Cut, policy: EvalPolicy, window: int) -> GrownView:
    """Feed a session to a policy; compact to the cut's budget whenever the window is full, and at the cut."""
    compact = policy.started()
    shown_cut = cut if policy.sees_future else cut.blind()
    last = GrownView((), compactions=0, refused=False)
    view_tokens = 0
    for start, stop in pairwise(cut_points([item.message for item in cut.items])):
        piece = cut.items[start:stop]
        size = COUNTER.count_all(item.message for item in piece)
        if last.view and view_tokens + size > window:
            last = _compacted(compact, shown_cut, last)
            view_tokens = COUNTER.count_all(item.message for item in last.view)
        last = last._replace(view=(*last.view, *piece))
        view_tokens += size
    return _compacted(compact, shown_cut, last)


def _compacted(compact: Compact, cut: Cut, last: GrownView) -> GrownView:
    count = last.compactions + 1
    try:
        return GrownView(compact(replace(cut, items=tuple(last.view))), count, refused=False)
    except (BudgetExceeded, CompactionRefused):
        return GrownView(last.view, count, refused=True)  # it will have to try again when more has come


def growths(
    files: Sequence[SessionFile],
    plan: Study,
    common: Common,
    sizes: tuple[int, int] = (WINDOW, TARGET),
    progress: Progress | None = None,
) -> list[Growth]:
    """Return a growth for every policy, at the last cut of each session that is long enough.

    ``sizes`` are the window and the target, in tokens.
    """
    work = partial(_growths_of, plan, common, *sizes)
    return [growth for result in mapped(work, files, plan.jobs, progress, "growing") for growth in result]


def _growths_of(plan: Study, common: Common, window: int, target: int, file: SessionFile) -> list[Growth]:
    known = common.get(file.set, frozenset())
    result = []
    for session in sessions_of(file):
        cuts = list(cuts_of(session, file.set, plan.cut_shares, plan.least_tokens))
        if not cuts or cuts[-1].tokens < LEAST_WINDOWS * window:
            continue
        needs = needs_of(cuts[-1], lambda key: mark(key) in known)
        cut = replace(planted(cuts[-1], needs), budget_tokens=target)
        name = f"{file.path.name}#{cut.session}"
        result += [growth_of(cut, policy, window, name) for policy in plan.policies]
    return result


def growth_of(cut: Cut, policy: EvalPolicy, window: int, name: str) -> Growth:
    """Compare a chain with one compaction at a cut; its budget is the target of the chain."""
    begun = time.perf_counter()
    last = grown(cut, policy, window)
    seconds = time.perf_counter() - begun
    size = COUNTER.count_all(item.message for item in last.view)
    chained = refusal(cut, seconds, policy) if last.refused else score_of(cut, last.view, seconds, policy)
    at_once = scored(replace(cut, budget_tokens=cut.budget_tokens if last.refused else size), policy)
    return Growth(cut.set, name, policy.name, last.compactions, chained, at_once)


def drift(some: Iterable[Growth], metric: str) -> Mean | None:
    """Return what chains keep more than one compaction, on average; None if a metric is never asked.

    Below zero, the chain lost something: -0.05 is five points of a hundred.
    """
    differences = list(_differences(some, metric))
    return resampled(differences, [1] * len(differences)) if differences else None


def _differences(some: Iterable[Growth], metric: str) -> Iterator[float]:
    for growth in some:
        chained, at_once = getattr(growth.chained, metric), getattr(growth.at_once, metric)
        if chained is not None and at_once is not None:
            yield chained - at_once
