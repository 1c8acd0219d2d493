"""Prune the agent's prose: plans and task lists that a later one replaces.

Nothing unique is lost: the points of a plan that the later one does not repeat are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clew.ledger.deferred import matter
from clew.message import Item, Place, Role, Text

FEWEST_POINTS = 3
"""Points that make a list a plan..."""
LONGEST_LEAD = 160
"""...and characters of the line above it that calls it one; both chosen by hand."""
SAME_POINT = 0.6
"""Share of a point's content words that the same point of a later plan has; chosen by hand."""
REPEATED_SHARE, REVISED_SHARE = 0.5, 0.25
"""Share of the points that a later plan must repeat to replace an earlier one; the second number if it calls
itself a revision. Chosen by hand."""

_POINT = re.compile(r"[ \t]*(?:\d{1,3}[.)]|[-*•]|\[[ xX]\])[ \t]+(?=\S)")
_PLAN = re.compile(r"\b(?:plan|steps|to-?dos?|task[ ]list|approach|roadmap)\b", re.IGNORECASE)
_REVISED = re.compile(r"\b(?:re-?vised|up-?dated|new|changed|adjusted|instead)\b", re.IGNORECASE)


class Replaced(NamedTuple):
    """A text of the agent that can be shown smaller."""

    place: Place
    text: str
    reason: str
    instead: Place | None = None


class _Plan(NamedTuple):
    place: Place
    name: str
    lines: list[str]
    points: dict[int, frozenset[str]]
    """The content words of its points, by line."""
    revises: bool


def replaced_plans(view: Sequence[Item], start: int = 0) -> Iterator[Replaced]:
    """Find plans in the agent's prose, from an index on, most of whose points a later plan repeats."""
    plans = [plan for i, item in enumerate(view[start:], start) for plan in _plans(i, item)]
    for earlier, plan in enumerate(plans):
        for later in reversed(plans[earlier + 1 :]):
            own = _unrepeated(plan, later)
            least = REVISED_SHARE if later.revises else REPEATED_SHARE
            if len(own) <= (1 - least) * len(plan.points):
                note = f"[{len(plan.points) - len(own)} points are in the later plan in {later.name}]"
                yield Replaced(
                    plan.place,
                    _shortened(plan, own, note),
                    f"replaced by the plan in {later.name}",
                    later.place,
                )
                break


def _plans(i: int, item: Item) -> Iterator[_Plan]:
    if item.message.role is not Role.ASSISTANT:
        return
    for j, part in enumerate(item.message.parts):
        if not isinstance(part, Text) or part.text.count("\n") < FEWEST_POINTS - 1:
            continue
        if not _PLAN.search(part.text):
            continue
        lines = part.text.split("\n")
        points = {n: matter(line) for n, line in enumerate(lines) if _POINT.match(line)}
        if len(points) < FEWEST_POINTS:
            continue
        lead = " ".join(line for line in lines[: min(points)] if line.strip() and len(line) <= LONGEST_LEAD)
        if _PLAN.search(lead):
            yield _Plan(Place(i, j), item.id, lines, points, _REVISED.search(lead) is not None)


def _unrepeated(plan: _Plan, later: _Plan) -> set[int]:
    """Return the lines of the points that the later plan does not have."""
    return {
        n
        for n, words in plan.points.items()
        if not any(len(words & other) >= SAME_POINT * len(words) > 0 for other in later.points.values())
    }


def _shortened(plan: _Plan, own: set[int], note: str) -> str:
    """Return a plan without its repeated points and the lines that continue them."""
    kept: list[str] = []
    skipping = noted = False
    for n, line in enumerate(plan.lines):
        if n in plan.points:
            skipping = n not in own
        elif line and not line[0].isspace():
            skipping = False  # a paragraph after the list
        if not skipping:
            kept.append(line)
        elif not noted:
            kept.append(note)
            noted = True
    return "\n".join(kept)
