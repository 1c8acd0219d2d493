"""What is left of a session that is compacted again and again.

``chained`` (``clew eval --chain``) compacts the part before a cut 1, 5, 20 or 100 times on the way, in pieces
of equal size. All chains end at the same cut with the same budget, so what they differ in is drift. A rule is
planted near the beginning: the further back a rule lies, the easier it is lost.

``growths`` (``--grow``) compacts as a session does, whenever the view outgrows a window, and compares the
last view with one compaction of the same history to the same size.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from typing import NamedTuple
from zlib import crc32

from clew.errors import BudgetExceeded, CompactionRefused
from clew.message import Item, Role, cut_points, text_message
from clew_evals.find_needs import needs_of
from clew_evals.needs import Needs
from clew_evals.policies import Compact, EvalPolicy
from clew_evals.score import Score, score_of, score_policy, score_refusal
from clew_evals.sessions import COUNTER, Cut, SessionFile
from clew_evals.study import Common, Progress, Study, common_in, last_cuts, map_files, usual_budget
from clew_evals.summary import Mean, bootstrap_mean

TIMES = (1, 5, 20, 100)
"""Numbers of compactions."""
PLANTED_AT = 0.1
"""The share of the messages before the planted rule."""
PLANTED = (
    "Never modify anything under the vendor_mirror directory, not even whitespace.",
    "Always ask me before you delete a database table or drop a column.",
    "Do not add new third-party dependencies without telling me first.",
    "Keep the public function names in the gateway module exactly as they are.",
    "Whatever happens, never push to the release-candidate branch yourself.",
    "All amounts must be stored as integer cents, never as floating point numbers.",
)


@dataclass(frozen=True, slots=True)
class Link:
    """How one policy did at one cut after so many compactions: one point of a chain."""

    set: str
    session: str
    policy: str
    times: int
    score: Score


def run_chains(
    files: Sequence[SessionFile],
    plan: Study,
    common: Common,
    progress: Progress | None = None,
    times: Sequence[int] = TIMES,
) -> list[Link]:
    """Return a link for every policy and number of compactions, at the last cut of each session."""
    work = partial(_links_of, plan, common, tuple(times))
    return [link for links in map_files(work, files, plan.jobs, progress, "chaining") for link in links]


def _links_of(plan: Study, common: Common, times: Sequence[int], file: SessionFile) -> list[Link]:
    links = []
    for name, last in last_cuts(file, plan):
        needs = needs_of(last, common_in(common, file.set))
        cut = plant_rule(last, needs).budgeted(usual_budget(plan.shares))
        for policy, number in product(plan.policies, times):
            links.append(Link(file.set, name, policy.name, number, after_times(cut, policy, number)))
    return links


def plant_rule(cut: Cut, needs: Needs) -> Cut:
    """Return the cut with a rule of the user's near its beginning, which is all that counts as a rule."""
    rule = PLANTED[crc32(cut.session.encode()) % len(PLANTED)]
    points = cut_points([item.message for item in cut.items])
    place = next(point for point in points if point >= PLANTED_AT * len(cut.items))
    items = (*cut.items[:place], Item("planted", text_message(Role.USER, rule)), *cut.items[place:])
    return replace(cut, items=items, needs=replace(needs, constraints=(rule,), decisions=()))


def after_times(cut: Cut, policy: EvalPolicy, times: int) -> Score:
    """Compact so many times on the way to the cut, and score the last view."""
    begun = time.perf_counter()
    view = last_view(cut, policy, times)
    seconds = time.perf_counter() - begun
    return score_refusal(cut, seconds, policy) if view is None else score_of(cut, view, seconds, policy)


def last_view(cut: Cut, policy: EvalPolicy, times: int) -> Sequence[Item] | None:
    """Return what so many compactions on the way leave at the cut; None if the last was refused."""
    compact = policy.started()
    view: Sequence[Item] = ()
    shown_cut = cut if policy.sees_future else cut.blind()
    refused = False
    for piece in pieces(cut.items, times):
        grown = (*view, *piece)
        try:
            view, refused = compact(replace(shown_cut, items=grown)), False
        except (BudgetExceeded, CompactionRefused):
            view, refused = grown, True  # it will have to try again when more has come
    return None if refused else view


def pieces(items: Sequence[Item], count: int) -> Iterator[Sequence[Item]]:
    """Yield the messages in about so many pieces of equal tokens; no piece begins where no cut is legal."""
    points = cut_points([item.message for item in items])
    sizes = [COUNTER.count(item.message) for item in items]
    step = sum(sizes) / count
    start, held, wanted = 0, 0.0, step
    for before, point in pairwise(points):
        held += sum(sizes[before:point])
        if held >= wanted or point == len(items):
            yield items[start:point]
            start = point
            wanted = held + step


# Chains at a real window ------------------------------------------------------------------------------

WINDOW, TARGET = 30_000, 10_000
"""The defaults of ``--grow``, in tokens: a view may grow to the one and is compacted to the other."""
GROWN = (
    "far", "roundtrip", "constraints", "rules", "retained", "continuity", "next_action", "goal", "redo",
    "reports", "current",
)  # fmt: skip
"""The metrics that are compared."""
LEAST_WINDOWS = 2
"""Windows of tokens before the cut that a session needs: less makes no chain."""


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


def grow_view(cut: Cut, policy: EvalPolicy, window: int) -> GrownView:
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


def run_growths(
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
    return [growth for result in map_files(work, files, plan.jobs, progress, "growing") for growth in result]


def _growths_of(plan: Study, common: Common, window: int, target: int, file: SessionFile) -> list[Growth]:
    result = []
    for name, last in last_cuts(file, plan):
        if last.tokens < LEAST_WINDOWS * window:
            continue
        needs = needs_of(last, common_in(common, file.set))
        cut = replace(plant_rule(last, needs), budget_tokens=target)
        result += [growth_of(cut, policy, window, name) for policy in plan.policies]
    return result


def growth_of(cut: Cut, policy: EvalPolicy, window: int, name: str) -> Growth:
    """Compare a chain with one compaction at a cut; its budget is the target of the chain."""
    begun = time.perf_counter()
    last = grow_view(cut, policy, window)
    seconds = time.perf_counter() - begun
    size = COUNTER.count_all(item.message for item in last.view)
    chained = (
        score_refusal(cut, seconds, policy) if last.refused else score_of(cut, last.view, seconds, policy)
    )
    at_once = score_policy(replace(cut, budget_tokens=cut.budget_tokens if last.refused else size), policy)
    return Growth(cut.set, name, policy.name, last.compactions, chained, at_once)


def mean_drift(some: Iterable[Growth], metric: str) -> Mean | None:
    """Return what chains keep more than one compaction, on average; None if a metric is never asked.

    Below zero, the chain lost something: -0.05 is five points of a hundred.
    """
    pairs = ((getattr(growth.chained, metric), getattr(growth.at_once, metric)) for growth in some)
    gains = [chained - at_once for chained, at_once in pairs if chained is not None and at_once is not None]
    return bootstrap_mean(gains, [1] * len(gains)) if gains else None
