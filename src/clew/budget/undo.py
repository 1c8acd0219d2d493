"""The price of undoing a compaction: the larger view has to be written to the cache again."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clew.budget.prices import Cache, Cost, long_input


@dataclass(frozen=True, slots=True)
class UndoPrice:
    """The price of undoing a compaction."""

    once: Cost
    """Extra cost of the next request."""
    each: Cost
    """Extra cost of every later request, because the view is larger again."""

    def __str__(self) -> str:
        return f"undoing costs {self.once} on the next request and {self.each} on each one after it"


def undo_price(
    tokens: int, restored_tokens: int, stable_tokens: int, cache: Cache, unseen_seconds: float = math.inf
) -> UndoPrice:
    """Return the price of going back from a view of ``tokens`` to one of ``restored_tokens``.

    The first ``stable_tokens`` are the same in both. ``unseen_seconds`` is how long ago the larger view was
    last sent: if the cache still has it, it is read and not written.
    """
    write = cache.read if unseen_seconds < cache.life_seconds else cache.write
    changed = restored_tokens - stable_tokens
    dear_restored = long_input(cache.model, restored_tokens)
    dear_now = long_input(cache.model, tokens)
    back = (stable_tokens * min(cache.resend, write) + changed * write) * dear_restored
    stay = tokens * cache.resend * dear_now
    each = (restored_tokens * dear_restored - tokens * dear_now) * cache.read
    return UndoPrice(cache.cost(back - stay), cache.cost(each))
