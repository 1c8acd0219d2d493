"""What stays verbatim: the most recent messages, whole atoms of them, and nothing larger than its room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.message import Compacted, Item, Message, Origin, Role, cut_points, pair

TAIL_SHARE = 0.6
"""Of the room for recent messages, for those beyond the ones that are always kept."""
MOST_SHARE = 0.5
"""Of the room, for recent messages; larger ones among them are shown in excerpt..."""
LEAST_SHARE = 0.1
"""...and so much where the room is small beside what it must hold: then what is old needs it more."""
STEEP = 2.0
"""How fast that share grows with the share of the view that there is room for."""
LEAST_SHOWN = 60
"""Tokens of a message below which an excerpt says too little to be kept for."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How much of the recent past stays verbatim."""

    messages: int = 8
    """At least so many, where they fit at all."""
    tokens: int | None = None
    """At most so many; by default a share of the room."""


AS_USUAL = Keep()


def leading_system(view: Sequence[Item]) -> int:
    """Return how many messages at the start no rung may touch: the system prompt, a provider's compaction.

    A provider's own block or item is first in the list, or behind the user's messages that it was returned
    with; it is signed or encrypted for exactly that place.
    """
    prompt = sealed = 0
    for i, item in enumerate(view):
        if any(isinstance(part, Compacted) for part in item.message.parts):
            sealed = i + 1
        elif item.message.role in (Role.SYSTEM, Role.DEVELOPER):
            prompt = i + 1 if prompt == i else prompt
        elif item.message.role is not Role.USER:
            break
    return max(prompt, sealed)


def tail_start(view: Sequence[Item], sizes: Sequence[int], room: int, keep: Keep, floor: int) -> int:
    """Return where the verbatim tail begins: always a legal cut, never before ``floor``.

    The last atom is always kept. Of those that are always wanted, a large one counts only as much as an
    excerpt of it would take.
    """
    most = max(tail_room(room, sum(sizes[floor:])), keep.tokens or 0)
    usual = keep.tokens if keep.tokens is not None else int(most * TAIL_SHARE)
    excerpt = max(LEAST_SHOWN, most // max(1, keep.messages))
    start = len(view)
    held = 0
    for point in reversed(last_cuts(view, sizes, floor, messages=keep.messages, tokens=most)):
        wanted = len(view) - start < keep.messages
        size = sum(min(size, excerpt) if wanted else size for size in sizes[point:start])
        if start < len(view) and held + size > (most if wanted else usual):
            break
        start, held = point, held + size
    return start


def tail_room(room: int, before: int) -> int:
    """Return the tokens for recent messages, of a room for what takes so many tokens now."""
    return int(room * min(MOST_SHARE, max(LEAST_SHARE, STEEP * room / max(1, before) - LEAST_SHARE)))


def last_cuts(
    view: Sequence[Item], sizes: Sequence[int], floor: int, *, messages: int, tokens: int
) -> list[int]:
    """Return the legal cuts from ``floor`` on among the last messages: more than so many, of more tokens.

    Looks at the recent turns alone where nothing in them answers a call made before.
    """
    held = 0
    since = len(view)
    while since > floor and (held <= tokens or len(view) - since <= messages):
        since -= 1
        held += sizes[since]
    while since > floor and not _opens_turn(view[since].message):
        since -= 1
    recent = [item.message for item in view[since:]]
    if since > floor and pair(recent).orphans:
        since, recent = floor, [item.message for item in view[floor:]]
    if since == floor:  # what stands before may still be tied to it
        points = cut_points([item.message for item in view])
    else:
        points = [since + point for point in cut_points(recent)]
    return [point for point in points if floor <= point < len(view)]


def _opens_turn(message: Message) -> bool:
    return message.role is Role.USER and message.origin is Origin.SPOKEN and not any(message.results)


def water_level(sizes: Sequence[int], room: int) -> int:
    """Return the height at which vessels of these sizes, filled no higher, hold no more than ``room``."""
    left = room
    for i, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - i)
        if size > share:
            return max(0, share)
        left -= size
    return max(sizes, default=0)
