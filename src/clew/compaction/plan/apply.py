"""Apply a plan to a view and return the resulting view; the input is not changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from clew.compaction.plan.plan import Condense, Drop, Operation, Plan, Shrink
from clew.compaction.plan.render import digest_message
from clew.errors import StalePlan
from clew.message import Item


def apply(plan: Plan, view: Sequence[Item]) -> list[Item]:
    """Return the view after a plan; a digest's message has the digest's id.

    Raise ``StalePlan`` if the plan names messages that the view lacks, or has in another order.
    """
    places = _places(view)
    after: list[Item | None] = list(view)
    touched: set[int] = set()
    for operation in plan.operations:
        mine = _places_of(operation, places)
        if not touched.isdisjoint(mine):
            raise StalePlan(f"two operations for {view[min(touched.intersection(mine))].id}")
        touched.update(mine)
        for place in mine:
            after[place] = None
        match operation:
            case Shrink(id=name, message=message):
                after[mine[0]] = Item(name, message)
            case Condense(digest=digest):
                after[mine[0]] = Item(digest.id, digest_message(digest))
            case Drop():
                pass
            case _:
                assert_never(operation)
    left = [item for item in after if item is not None]
    _places(left)
    return left


def _places(view: Sequence[Item]) -> dict[str, int]:
    places = {item.id: i for i, item in enumerate(view)}
    if len(places) < len(view):
        raise StalePlan("two messages of one view have the same id")
    return places


def _places_of(operation: Operation, places: Mapping[str, int]) -> list[int]:
    names = (operation.id,) if isinstance(operation, Shrink) else operation.ids
    try:
        mine = [places[name] for name in names]
    except KeyError as missing:
        raise StalePlan(f"no message {missing.args[0]} in the view") from None
    if isinstance(operation, Condense) and (not mine or mine != list(range(mine[0], mine[0] + len(mine)))):
        raise StalePlan("a digest must replace consecutive messages of the view, in their order")
    return mine
