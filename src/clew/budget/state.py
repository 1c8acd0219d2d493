"""The budget's state between requests, which keeps compactions from thrashing or nesting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from clew.budget.breaker import Breaker
from clew.budget.reading import count, reading, text
from clew.budget.results import ResultSizes
from clew.budget.signals import Trigger
from clew.errors import CompactionUnderWay
from clew.message import JsonObject

LEASE_SECONDS = 600.0
"""The longest that a compaction may take; a process that dies in one blocks the session no longer."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Marks a running compaction: its process, and when the lease expires."""

    holder: str
    until_unix_s: float


@dataclass(frozen=True, slots=True)
class State:
    """The budget's state of a session, stored as JSON so that it survives a restart."""

    results: ResultSizes = field(default_factory=ResultSizes)
    breaker: Breaker = field(default_factory=Breaker)
    after_tokens: int | None = None
    """Tokens that the last compaction left in the window; None before the first."""
    lease: Lease | None = None

    def is_compacting(self, at_unix_s: float) -> bool:
        """Whether a compaction is running."""
        return self.lease is not None and at_unix_s < self.lease.until_unix_s

    def begin(self, holder: str, at_unix_s: float, seconds: float = LEASE_SECONDS) -> State:
        """Return the state with a running compaction; raise ``CompactionUnderWay`` inside another."""
        if self.lease is not None and self.is_compacting(at_unix_s):
            raise CompactionUnderWay(f"{self.lease.holder} is compacting")
        return replace(self, lease=Lease(holder, at_unix_s + seconds))

    def ended(self, trigger: Trigger, before_tokens: int, after_tokens: int, target_tokens: int) -> State:
        """Return the state after a compaction that took effect."""
        breaker = self.breaker.ended(before_tokens, after_tokens, target_tokens)
        # Shortening one result frees nothing else, so it must not delay the next compaction.
        left = self.after_tokens if trigger is Trigger.OVERSIZED else after_tokens
        return replace(self, breaker=breaker, after_tokens=left, lease=None)

    def failed(self, used_tokens: int, reason: str) -> State:
        """Return the state after a failed or refused compaction, which left the view unchanged."""
        return replace(self, breaker=self.breaker.failed(used_tokens, reason), lease=None)

    def released(self) -> State:
        """Return the state without a running compaction."""
        return replace(self, lease=None)

    def undone(self, used_tokens: int) -> State:
        """Return the state after an undo, so that the restored messages are not compacted again at once."""
        return replace(self, after_tokens=used_tokens)

    def saw_result(self, tokens: int) -> State:
        """Return the state after a tool result; results of parallel calls count as one."""
        return replace(self, results=self.results.add(tokens))

    def to_json(self) -> JsonObject:
        """Return the state as plain JSON."""
        return {
            "results": self.results.to_json(),
            "breaker": self.breaker.to_json(),
            "after_tokens": self.after_tokens,
            "lease": None if self.lease is None else asdict(self.lease),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> State:
        """Read what ``to_json`` wrote."""
        with reading("the state of a budget"):
            after, lease = value["after_tokens"], value["lease"]
            return cls(
                results=ResultSizes.from_json(value["results"]),
                breaker=Breaker.from_json(value["breaker"]),
                after_tokens=None if after is None else count(after),
                lease=None if lease is None else Lease(text(lease["holder"]), float(lease["until_unix_s"])),
            )


FRESH = State()
"""The state of a new session."""
