"""What a person can set about a budget: when to compact, how far down, and what is kept free."""

from __future__ import annotations

from dataclasses import dataclass

from clew.errors import InputError


@dataclass(frozen=True, slots=True)
class Limit:
    """A share of something, a number of tokens, or both: then whichever is reached first."""

    share: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.share is None and self.tokens is None:
            raise InputError("a limit needs a share, a number of tokens, or both")
        if self.share is not None and not 0 < self.share <= 1:
            raise InputError(f"a share of {self.share} is not above 0 and at most 1")
        if self.tokens is not None and self.tokens < 0:
            raise InputError(f"a limit of {self.tokens} tokens is below 0")

    def of(self, whole_tokens: int) -> int:
        """Return the limit in tokens; it never shrinks as the whole grows."""
        by_share = whole_tokens if self.share is None else round(self.share * whole_tokens)
        return by_share if self.tokens is None else min(by_share, self.tokens)

    def why(self, whole_tokens: int) -> str:
        """Return what sets the limit, in words for people."""
        if self.share is None or self.tokens == self.of(whole_tokens):
            return f"{self.tokens:,} tokens by the policy"
        return f"{self.share:.0%} of {whole_tokens:,}"


DOWN_TO = 0.30
"""The share of the usable window that a compaction leaves, by default.

With cached prompts every compaction writes what is left again, so going further down costs less: on 94 real
session shapes (``bench/band.py``) 60 % costs 1.5 times as much as 30 %, and 20 % saves 5 % more than 30 %.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings of a budget. Limits are of the usable window, where nothing else is said.

    The sizes come from 390 real coding sessions, counted for Claude: of 25,359 answers of tools half are
    below 150 tokens, 99 in 100 below 14,300, and the largest has 69,000; 1 in 190 is larger than the room
    kept for it. Summaries that products wrote there have 1,100 to 6,500.
    """

    compact_at: Limit = Limit(share=0.85)
    """Pressure: from here on, compact."""
    down_to: Limit = Limit(share=DOWN_TO)
    """How far down. Where that is not below ``compact_at`` (an absolute count in a large window), the
    proportion of the default is taken instead."""
    warn_at: Limit = Limit(share=0.75)
    """From here on, say that it will soon be time; at 90 % of ``compact_at`` at the latest."""

    keep_messages: int = 8
    """The last messages that stay verbatim, at the least..."""
    keep_tokens: int = 0
    """...and the last tokens."""

    reply: Limit = Limit(share=0.20, tokens=8_000)
    """Kept free for the reply, of the whole window; the usable window is the rest."""
    summary_call: Limit = Limit(share=0.05, tokens=8_000)
    """Kept free so that the history still fits with the request for a summary, and its answer, on top."""
    next_result: Limit = Limit(share=0.10, tokens=24_000)
    """Kept free for the next tool result, until the session has shown how large its results are."""
    next_result_most: Limit = Limit(share=0.25)
    """Kept free for the next tool result at the most, whatever the session has shown."""

    instructions: Limit = Limit(share=0.15)
    """The most that instruction files may take."""
    memory: Limit = Limit(share=0.10, tokens=500)
    """The most that notes from memory may take."""

    oversized: Limit = Limit(share=0.25, tokens=25_000)
    """A single tool result above this is shrunk at once."""
    boundary_from: Limit = Limit(share=0.40)
    """Milestones, changes of phase, pauses and the agent's wish count from here on: below, little is won."""
    long_pause_seconds: float = 3_600.0
    """Work resumed after this long counts as a boundary; by then every common prompt cache is cold."""

    def __post_init__(self) -> None:
        """Refuse a band upside down; an absolute count can only be judged once there is a window."""
        high, low = self.compact_at.share, self.down_to.share
        if self.down_to.tokens is None and high is not None and low is not None and low >= high:
            raise InputError(f"compacting at {high:.0%} down to {low:.0%} frees nothing; lower down_to")


DEFAULT = Policy()
EARLY = Policy(compact_at=Limit(share=0.75), warn_at=Limit(share=0.65))
"""Compacts sooner: for models that get worse as their window fills."""
