"""A circuit breaker: after repeated failures, compaction stops and a person is asked.

Without it, a session that cannot be compacted would retry on every turn and pay for each try.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from clew.budget.reading import count, reading, text
from clew.message import JsonObject

TRIES = 3
"""Consecutive failures after which the breaker opens; chosen by hand."""
GROWTH = 0.10
"""If the window grew by this share since the last failure, one more try is allowed; chosen by hand."""
LEAST_PROGRESS = 0.05
"""A compaction that misses its target and frees less than this share counts as failed; chosen by hand."""


class Stance(StrEnum):
    """Whether a compaction may be tried."""

    CLOSED = "closed"
    """It may be tried."""
    HALF_OPEN = "half open"
    """One try: another failure opens the breaker again."""
    OPEN = "open"
    """It may not be tried."""


@dataclass(frozen=True, slots=True)
class Breaker:
    """The record of failed compactions, stored as JSON so that it survives a restart."""

    failures: int = 0
    """Consecutive failures."""
    failed_at_tokens: int = 0
    """Tokens in the window at the last failure."""
    reason: str = ""
    """Reason of the last failure."""

    def stance(self, used_tokens: int, asked: bool = False) -> Stance:
        """Return whether a compaction may be tried now; ``asked`` if a person wants it."""
        if self.failures < TRIES:
            return Stance.CLOSED
        grown = used_tokens - self.failed_at_tokens > GROWTH * self.failed_at_tokens
        return Stance.HALF_OPEN if asked or grown else Stance.OPEN

    def failed(self, used_tokens: int, reason: str) -> Breaker:
        """Return the breaker after a failed compaction."""
        return Breaker(self.failures + 1, used_tokens, reason)

    def ended(self, before_tokens: int, after_tokens: int, target_tokens: int) -> Breaker:
        """Return the breaker after a compaction that took effect; one that frees too little has failed."""
        freed = before_tokens - after_tokens
        reached = after_tokens <= target_tokens
        if freed > 0 and (reached or freed >= LEAST_PROGRESS * before_tokens):
            return Breaker()
        left = f"it left {after_tokens:,} of {before_tokens:,} tokens"
        return self.failed(after_tokens, f"{left}, the target was {target_tokens:,}")

    @property
    def question(self) -> str:
        """Return the question to a person, with the reason."""
        times = "once" if self.failures == 1 else f"{self.failures} times in a row"
        return (
            f"compaction failed {times} (last: {self.reason}); give a narrower task, or a larger budget: "
            "a model with a larger window, fewer tools, fewer pins"
        )

    def to_json(self) -> JsonObject:
        """Return it as plain JSON."""
        return {
            "failures": self.failures,
            "failed_at_tokens": self.failed_at_tokens,
            "reason": self.reason,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Breaker:
        """Read what ``to_json`` wrote."""
        with reading("a breaker"):
            return cls(count(value["failures"]), count(value["failed_at_tokens"]), text(value["reason"]))
