"""Which recent messages stay verbatim: whole atoms, within their room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.message import Compacted, Item, Message, Origin, Role, cut_points, pair

SMALL_ROOM, LARGE_ROOM = 2_500, 7_500
"""Tokens. Between these two the shares below change linearly: in a small room the recent work is nearly all
that helps, in a large one the story and findings of a long session are worth more. Fitted with the reader
benchmark (``bench/reader``) and the questions of ``clew eval``."""
KEPT_SHARE = (0.75, 0.6)
"""Share of the room for recent messages, including faded ones; the rest is for the digest."""
REACH_SHARE = (0.75, 0.5)
"""Share of that which recent messages may take when all are faded; it limits how far back they reach."""
LEAST_SHOWN = 60
"""Tokens below which an excerpt of a message says too little to keep it."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How many recent messages stay verbatim."""

    messages: int = 8
    """The least number, if they fit at all."""
    tokens: int | None = None
    """The least tokens of them; by default a share of the room."""


AS_USUAL = Keep()


def leading_system(view: Sequence[Item]) -> int:
    """Return how many leading messages may not be touched: system prompt, a provider's own compaction.

    A provider's compaction item is first in the list, or after the user messages it was returned with; it is
    signed or encrypted for exactly that position.
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


def tail_start(view: Sequence[Item], faded: Sequence[int], kept_room: int, keep: Keep, floor: int) -> int:
    """Return where the recent messages begin: always a legal cut, never before ``floor``.

    ``faded`` are the sizes of faded messages. The last atom is always kept. Among the messages that are kept
    in any case, a large one counts as its excerpt.
    """
    reach = int(kept_room * between(REACH_SHARE, kept_room / KEPT_SHARE[0]))
    excerpt = max(LEAST_SHOWN, kept_room // max(1, keep.messages))
    start = len(view)
    held = 0
    for point in reversed(last_cuts(view, faded, floor, messages=keep.messages, tokens=kept_room)):
        wanted = len(view) - start < keep.messages
        size = sum(min(size, excerpt) if wanted else size for size in faded[point:start])
        if start < len(view) and held + size > (kept_room if wanted else reach):
            break
        start, held = point, held + size
    return start


def tail_room(room: int, keep: Keep) -> int:
    """Return the tokens for recent messages."""
    return max(int(room * between(KEPT_SHARE, room)), min(keep.tokens or 0, room))


def between(shares: tuple[float, float], room: float) -> float:
    """Interpolate a share for a room of this size."""
    small, large = shares
    return small + (large - small) * min(1.0, max(0.0, (room - SMALL_ROOM) / (LARGE_ROOM - SMALL_ROOM)))


def last_cuts(
    view: Sequence[Item], sizes: Sequence[int], floor: int, *, messages: int, tokens: int
) -> list[int]:
    """Return the legal cuts from ``floor`` on that leave at most so many last messages or tokens.

    Looks only at recent turns if nothing in them answers an earlier call.
    """
    held = 0
    since = len(view)
    while since > floor and (held <= tokens or len(view) - since <= messages):
        since -= 1
        held += sizes[since]
    while since > floor and not opens_turn(view[since].message):
        since -= 1
    recent = [item.message for item in view[since:]]
    if since > floor and pair(recent).orphans:
        since, recent = floor, [item.message for item in view[floor:]]
    if since == floor:  # earlier messages may still belong to the same atom
        points = cut_points([item.message for item in view])
    else:
        points = [since + point for point in cut_points(recent)]
    return [point for point in points if floor <= point < len(view)]


def opens_turn(message: Message) -> bool:
    """Whether a message is the user speaking."""
    return message.role is Role.USER and message.origin is Origin.SPOKEN and not any(message.results)


def water_level(sizes: Sequence[int], room: int) -> int:
    """Return the largest cap such that sizes cut down to it sum to at most ``room`` (water filling)."""
    left = room
    for i, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - i)
        if size > share:
            return max(0, share)
        left -= size
    return max(sizes, default=0)
