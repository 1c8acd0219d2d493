"""Estimate the size of the next tool result from the session's earlier ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clew.budget.policy import Policy
from clew.budget.reading import count, reading
from clew.message import JsonObject

ENOUGH = 100
"""The number of results from which the largest 1 % are at least one and are treated as outliers."""


@dataclass(frozen=True, slots=True)
class ResultSizes:
    """A histogram of a session's tool result sizes, rounded up by at most a quarter to stay small."""

    counts: tuple[tuple[int, int], ...] = ()
    """Pairs of bucket size in tokens and number of results, ascending."""
    largest_tokens: int = 0

    @property
    def results(self) -> int:
        """Return the number of results."""
        return sum(times for _, times in self.counts)

    def add(self, tokens: int) -> ResultSizes:
        """Return the histogram with one more result; results that arrive together count as one."""
        counts = dict(self.counts)
        size = _rounded_up(tokens)
        counts[size] = counts.get(size, 0) + 1
        return ResultSizes(tuple(sorted(counts.items())), max(self.largest_tokens, tokens))

    @property
    def p99_tokens(self) -> int:
        """Return the 99th percentile of the sizes."""
        left = self.results // 100
        for size, times in reversed(self.counts):
            if times > left:
                return min(size, self.largest_tokens)
            left -= times
        return 0

    def expected_tokens(self, policy: Policy, usable_tokens: int) -> int:
        """Return the tokens to keep free for the next result.

        The policy's first guess or the largest so far, whichever is more; after ``ENOUGH`` results the 99th
        percentile, so that one giant result does not reduce the window for ever. Never more than the policy
        allows: larger results are shortened when they arrive.
        """
        if self.results < ENOUGH:
            learnt = max(policy.next_result.of(usable_tokens), self.largest_tokens)
        else:
            learnt = self.p99_tokens
        return min(learnt, policy.next_result_most.of(usable_tokens))

    def to_json(self) -> JsonObject:
        """Return the histogram as plain JSON."""
        return {"counts": [[size, times] for size, times in self.counts], "largest": self.largest_tokens}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ResultSizes:
        """Read what ``to_json`` wrote."""
        with reading("a record of result sizes"):
            counts = tuple((count(size), count(times)) for size, times in value["counts"])
            return cls(counts, count(value["largest"]))


def _rounded_up(tokens: int) -> int:
    """Round up to three leading bits: four bucket sizes per doubling."""
    shift = max(0, tokens.bit_length() - 3)
    return -(-tokens >> shift) << shift
