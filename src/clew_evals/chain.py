"""What is left after many compactions: the same session, the same room, compacted 1, 5, 20 or 100 times.

The first part of a session is fed to a policy piece by piece; after each piece it compacts its last view and
what came since. All chains end at the same cut with the same room, so what they differ in is drift. Rules are
planted near the beginning: the further back a rule lies, the easier it is lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from zlib import crc32

from clew.errors import BudgetExceeded
from clew.message import Item, Role, cut_points, text_message
from clew_evals.asking import needs_of
from clew_evals.cuts import COUNTER, Cut, cuts_of
from clew_evals.files import SessionFile
from clew_evals.needs import Needs
from clew_evals.policies import EvalPolicy
from clew_evals.score import Score, refusal, score_of
from clew_evals.study import Common, Progress, Study, mapped, mark, sessions_of, usual_budget

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


def chained(
    files: Sequence[SessionFile],
    plan: Study,
    common: Common,
    progress: Progress | None = None,
    times: Sequence[int] = TIMES,
) -> list[Link]:
    """Return a link for every policy and number of compactions, at the last cut of each session."""
    work = partial(_links_of, plan, common, tuple(times))
    return [link for links in mapped(work, files, plan.jobs, progress, "chaining") for link in links]


def _links_of(plan: Study, common: Common, times: Sequence[int], file: SessionFile) -> list[Link]:
    known = common.get(file.set, frozenset())
    links = []
    for session in sessions_of(file):
        cuts = list(cuts_of(session, file.set, plan.cut_shares, plan.least_tokens))
        if not cuts:
            continue
        needs = needs_of(cuts[-1], lambda key: mark(key) in known)
        cut = planted(cuts[-1], needs).budgeted(usual_budget(plan.shares))
        name = f"{file.path.name}#{cut.session}"
        for policy, number in product(plan.policies, times):
            links.append(Link(file.set, name, policy.name, number, after_times(cut, policy, number)))
    return links


def planted(cut: Cut, needs: Needs) -> Cut:
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
    return refusal(cut, seconds, policy) if view is None else score_of(cut, view, seconds, policy)


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
        except BudgetExceeded:
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
