"""Thoughts, left out whole where a view does not fit with them.

A provider takes a signed thought as it was or not at all, so none is ever cut. While one is shown, the steps
of the running loop belong to it; where none is, they may be parted like any others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from clew.message import Item, Message, Part, Thinking
from clew.plan import Rung, Shrink

_LEFT_OUT = Thinking("")
"""Holds the place of a thought, so that places in a message stay what they are while it is judged."""
_REASON = "there is no room for its thought"


def with_gaps(items: Iterable[Item]) -> list[Item]:
    """Return messages with gaps in place of their thoughts."""
    return [Item(item.id, _with_gaps(item.message)) if thinks(item.message) else item for item in items]


def _with_gaps(message: Message) -> Message:
    return replace(message, parts=tuple(_LEFT_OUT if _may_go(part) else part for part in message.parts))


def thinks(message: Message) -> bool:
    """Tell whether a message holds a thought that may be left out, and something else."""
    gone = [_may_go(part) for part in message.parts]
    return any(gone) and not all(gone)


def _may_go(part: Part) -> bool:
    # A reasoning item with an id of its own is what the next item asks for: the two stay together.
    return isinstance(part, Thinking) and part.item_id is None


def left_out(items: Sequence[Item], shrinks: Iterable[Shrink]) -> list[Shrink]:
    """Return how messages are shown without their thoughts, and smaller where they are shown smaller."""
    smaller = {shrink.id: shrink for shrink in shrinks}
    for item in items:
        if thinks(item.message):
            known = smaller.get(item.id)
            message = known.message if known else item.message
            parts = tuple(part for part in message.parts if not _may_go(part))
            reason = known.reason if known else _REASON
            smaller[item.id] = Shrink(item.id, replace(message, parts=parts), reason, Rung.TRUNCATE)
    return [smaller[item.id] for item in items if item.id in smaller]
