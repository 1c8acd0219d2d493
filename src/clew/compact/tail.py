"""What stays verbatim: the most recent messages, whole atoms of them, and nothing larger than its room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.message import Item, Role, cut_points

TAIL_SHARE = 0.4
"""Of the target, for recent messages beyond those that are always kept."""
MOST_SHARE = 0.7
"""Of the target, for those that are always kept; larger outputs among them are shown in excerpt."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How much of the recent past stays verbatim."""

    messages: int = 8
    """At least so many, where they fit at all."""
    tokens: int | None = None
    """At most so many; by default a share of the target."""


AS_USUAL = Keep()


def leading_system(view: Sequence[Item]) -> int:
    """Return how many messages at the start are the system prompt, which no rung may touch."""
    for i, item in enumerate(view):
        if item.message.role not in (Role.SYSTEM, Role.DEVELOPER):
            return i
    return len(view)


def tail_start(view: Sequence[Item], sizes: Sequence[int], target_tokens: int, keep: Keep) -> int:
    """Return where the verbatim tail begins: always a legal cut, never before the system prompt ends."""
    points = [point for point in cut_points([item.message for item in view]) if point < len(view)]
    first = leading_system(view)
    room = keep.tokens if keep.tokens is not None else int(target_tokens * TAIL_SHARE)
    start = len(view)
    held = 0
    for point in reversed(points):
        size = sum(sizes[point:start])
        wanted = len(view) - start < keep.messages
        if start < len(view) and held + size > (int(target_tokens * MOST_SHARE) if wanted else room):
            break
        if point < first:
            break
        start, held = point, held + size
    return start


def water_level(sizes: Sequence[int], room: int) -> int:
    """Return the height at which vessels of these sizes, filled no higher, hold no more than ``room``."""
    left = room
    for i, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - i)
        if size > share:
            return max(0, share)
        left -= size
    return max(sizes, default=0)
