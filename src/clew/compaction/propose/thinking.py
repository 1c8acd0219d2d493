"""Remove thinking blocks from messages, whole: a signed block must not be shortened.

``without_thinking`` returns messages as if their thinking were removed, to count what that would save;
``remove_thinking`` returns the operations of a plan that do it. A message that has nothing else is left out:
providers accept two messages of the user in a row.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from clew.compaction.plan import Rung, Shrink
from clew.message import (
    Item,
    Message,
    Native,
    Part,
    Role,
    Thinking,
)

_LEFT_OUT = Thinking("")
"""A placeholder for a thinking block, so that part indices stay valid while a cut is searched."""
_REASON = "there is no room for its thinking"
_EARLIER = "thinking of an earlier turn"


def has_thinking(message: Message) -> bool:
    """Whether a message has a thinking block."""
    return any(isinstance(part, Thinking) for part in message.parts)


def without_thinking(items: Iterable[Item]) -> list[Item]:
    """Return messages with placeholders for their thinking blocks."""
    return [Item(item.id, _with_gaps(item.message)) if has_thinking(item.message) else item for item in items]


def _with_gaps(message: Message) -> Message:
    parts = tuple(_LEFT_OUT if isinstance(part, Thinking) else part for part in message.parts)
    return replace(message, parts=parts)


def remove_thinking(
    items: Sequence[Item], shrinks: Iterable[Shrink], *, of_earlier_turns: bool = False
) -> list[Shrink]:
    """Return shrinks that remove the thinking of messages, on top of the given shrinks.

    Removing that of earlier turns is pruning: providers do not read it either. A message that has nothing
    else is shown no more.
    """
    smaller = {shrink.id: shrink for shrink in shrinks}
    linked: set[str] = set()
    for item in items:
        linked = linked if item.message.role is Role.ASSISTANT else set()
        linked |= set(_wires_of_items(item.message))
        known = smaller.get(item.id)
        message = _unlinked(known.message if known else item.message, linked)
        if has_thinking(item.message):
            message = replace(message, parts=tuple(p for p in message.parts if not isinstance(p, Thinking)))
        if message is not (known.message if known else item.message):
            reason, rung = (_EARLIER, Rung.PRUNE) if of_earlier_turns else (_REASON, Rung.TRUNCATE)
            if known:
                reason, rung = known.reason, known.rung if of_earlier_turns else rung
            smaller[item.id] = Shrink(item.id, message, reason, rung)
    return [smaller[item.id] for item in items if item.id in smaller]


def _wires_of_items(message: Message) -> Iterator[str]:
    """Yield the wire formats in which a thinking block of this message is an item with its own id."""
    for part in message.parts:
        if isinstance(part, Thinking) and part.item_id and part.native:
            yield part.native.wire


def _unlinked(message: Message, wires: set[str]) -> Message:
    """Return the message without the id that links it to a reasoning item the provider would ask for."""
    if not wires:
        return message
    parts = tuple(_part_unlinked(part, wires) for part in message.parts)
    native = _without_id(message.native, wires)
    same = native is message.native and all(map(operator.is_, parts, message.parts))
    return message if same else replace(message, parts=parts, native=native)


def _part_unlinked(part: Part, wires: set[str]) -> Part:
    native = _without_id(part.native, wires)
    return part if native is part.native else replace(part, native=native)


def _without_id(native: Native | None, wires: set[str]) -> Native | None:
    if native is None or native.wire not in wires or not isinstance(native.value, dict):
        return native
    if "id" not in native.value:
        return native
    return Native(native.wire, {key: value for key, value in native.value.items() if key != "id"})
