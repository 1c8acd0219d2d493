"""What it costs to undo a compaction: the larger view has to go into the cache again."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clew.budget.prices import Cache, Cost, long_input


@dataclass(frozen=True, slots=True)
class UndoPrice:
    """What undoing a compaction costs."""

    once: Cost
    """On the next request."""
    each: Cost
    """On every request after that, because the view is larger again."""

    def __str__(self) -> str:
        return f"undoing costs {self.once} on the next request and {self.each} on each one after it"


def undo_price(
    tokens: int, restored_tokens: int, stable_tokens: int, cache: Cache, unseen_seconds: float = math.inf
) -> UndoPrice:
    """Return the price of going from a view of so many tokens back to the larger one.

    ``stable_tokens`` at the start are the same in both. ``unseen_seconds`` is how long ago the larger view
    was last sent: while the cache still has it, it is read back and not written.
    """
    write = cache.read if unseen_seconds < cache.life_seconds else cache.write
    changed = restored_tokens - stable_tokens
    dear_restored = long_input(cache.model, restored_tokens)
    dear_now = long_input(cache.model, tokens)
    back = (stable_tokens * min(cache.resend, write) + changed * write) * dear_restored
    stay = tokens * cache.resend * dear_now
    each = (restored_tokens * dear_restored - tokens * dear_now) * cache.read
    return UndoPrice(cache.cost(back - stay), cache.cost(each))
