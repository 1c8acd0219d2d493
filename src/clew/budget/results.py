"""How large the next tool result may be, learnt from those the session has had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clew.budget.policy import Policy
from clew.budget.reading import count, reading
from clew.message import JsonObject

ENOUGH = 100
"""Results after which a hundredth of them is at least one: from then on the largest 1 % are outliers."""


@dataclass(frozen=True, slots=True)
class ResultSizes:
    """The sizes of a session's tool results, rounded up by at most a quarter: some dozen counts in all."""

    counts: tuple[tuple[int, int], ...] = ()
    """How many results have at most so many tokens (and more than the size before), ascending."""
    largest_tokens: int = 0

    @property
    def results(self) -> int:
        """Return how many there were."""
        return sum(times for _, times in self.counts)

    def add(self, tokens: int) -> ResultSizes:
        """Return the sizes with one more; results that arrive together count as one."""
        counts = dict(self.counts)
        size = _rounded_up(tokens)
        counts[size] = counts.get(size, 0) + 1
        return ResultSizes(tuple(sorted(counts.items())), max(self.largest_tokens, tokens))

    @property
    def p99_tokens(self) -> int:
        """Return a size that at most one result in a hundred exceeds."""
        left = self.results // 100
        for size, times in reversed(self.counts):
            if times > left:
                return min(size, self.largest_tokens)
            left -= times
        return 0

    def expected_tokens(self, policy: Policy, usable_tokens: int) -> int:
        """Return the room to keep for the next one.

        The policy's first guess or the largest so far, whichever is more; after ``ENOUGH`` results, the
        99th percentile, so that one giant does not narrow the window for ever. Never more than the policy
        allows: what is larger still is shrunk as it arrives.
        """
        if self.results < ENOUGH:
            learnt = max(policy.next_result.of(usable_tokens), self.largest_tokens)
        else:
            learnt = self.p99_tokens
        return min(learnt, policy.next_result_most.of(usable_tokens))

    def to_json(self) -> JsonObject:
        """Return it as plain JSON."""
        return {"counts": [[size, times] for size, times in self.counts], "largest": self.largest_tokens}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ResultSizes:
        """Read what ``to_json`` wrote."""
        with reading("a record of result sizes"):
            counts = tuple((count(size), count(times)) for size, times in value["counts"])
            return cls(counts, count(value["largest"]))


def _rounded_up(tokens: int) -> int:
    """Keep the three leading bits: four sizes for every doubling."""
    shift = max(0, tokens.bit_length() - 3)
    return -(-tokens >> shift) << shift
