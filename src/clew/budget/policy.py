"""The settings of a budget (when to compact, how far down, what is kept free) and the usable window.

``Policy(compact_at=Limit(share=0.85, tokens=120_000))`` compacts at 85 % of the usable window or at 120,000
tokens, whichever is less.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.errors import InputError
from clew.tokens import ModelInfo


@dataclass(frozen=True, slots=True)
class Limit:
    """A share, a number of tokens, or both, in which case the smaller applies."""

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
        """Return the limit in tokens."""
        by_share = whole_tokens if self.share is None else round(self.share * whole_tokens)
        return by_share if self.tokens is None else min(by_share, self.tokens)

    def why(self, whole_tokens: int) -> str:
        """Return the reason for the limit, as text."""
        if self.share is None or self.tokens == self.of(whole_tokens):
            return f"{self.tokens:,} tokens by the policy"
        return f"{self.share:.0%} of {whole_tokens:,}"


DOWN_TO = 0.30
"""The share of the usable window that a compaction leaves by default.

With prompt caching every compaction writes the remaining view to the cache again, so a lower target costs
less: on 94 real session shapes (``bench/band.py``) 60 % costs 1.5 times as much as 30 %, and 20 % saves 5 %
more than 30 %.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings of a budget. Limits are relative to the usable window unless documented otherwise.

    The reserves come from 390 real coding sessions, counted for Claude: of 25,359 tool results half have
    fewer than 150 tokens, 99 % fewer than 14,300, the largest has 69,000, and 1 in 190 exceeds the reserve.
    Summaries written by products there have 1,100 to 6,500 tokens.
    """

    compact_at: Limit = Limit(share=0.85)
    """Compact from here on (trigger: pressure)."""
    down_to: Limit = Limit(share=DOWN_TO)
    """The size to compact to. If that is not below ``compact_at`` (an absolute count in a large window), the
    ratio of the defaults applies instead."""
    warn_at: Limit = Limit(share=0.75)
    """Warn from here on; at 90 % of ``compact_at`` at the latest."""

    keep_messages: int | None = None
    """The number of last messages that stay verbatim. A compaction to a size that you set raises
    ``MessagesDoNotFit`` if they do not fit; one that the window requires keeps as many as fit. By default
    about the last 8 stay, the older of them shortened if there is too little room."""
    keep_tokens: int = 0
    """The number of last tokens that stay verbatim, in whole messages, in the same way."""

    reply: Limit = Limit(share=0.20, tokens=8_000)
    """Kept free for the reply, relative to the whole window; the rest is the usable window."""
    summary_call: Limit = Limit(share=0.05, tokens=8_000)
    """Kept free so that the history still fits together with a summary request and its answer."""
    next_result: Limit = Limit(share=0.10, tokens=24_000)
    """Kept free for the next tool result, until the session's own results are known."""
    next_result_most: Limit = Limit(share=0.25)
    """Upper bound of what is kept free for the next tool result."""

    instructions: Limit = Limit(share=0.15)
    """Upper bound for instruction files."""
    memory: Limit = Limit(share=0.10, tokens=500)
    """Upper bound for notes from memory."""

    oversized: Limit = Limit(share=0.25, tokens=25_000)
    """A single tool result above this is shortened at once if it is reported (``ResultArrived``), as
    ``clew chat`` does; any other from half of the usable window on, and both down to this size."""
    boundary_from: Limit = Limit(share=0.40)
    """Milestones, phase changes, pauses and the agent's own request trigger a compaction from here on; below,
    too little is gained."""
    long_pause_seconds: float = 3_600.0
    """Resuming after a pause this long triggers a compaction; by then all common prompt caches are cold."""

    def __post_init__(self) -> None:
        """Refuse a target above the threshold; absolute counts can only be checked against a window."""
        high, low = self.compact_at.share, self.down_to.share
        if self.down_to.tokens is None and high is not None and low is not None and low >= high:
            raise InputError(f"compacting at {high:.0%} down to {low:.0%} frees nothing; lower down_to")


DEFAULT = Policy()
EARLY = Policy(compact_at=Limit(share=0.75), warn_at=Limit(share=0.65))
"""Compacts sooner, for models whose quality drops as the window fills."""


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens that one request and its reply may take together."""

    tokens: int
    reply_tokens: int
    """Tokens kept free for the reply."""

    @property
    def usable_tokens(self) -> int:
        """Return the tokens that a request may take."""
        return max(0, self.tokens - self.reply_tokens)


def window_for(model: ModelInfo, policy: Policy = DEFAULT) -> Window:
    """Return the window of a model; if its provider limits the input to less, that limit plus the reply."""
    reply = min(policy.reply.of(model.window_tokens), model.max_output_tokens)
    return Window(model.input_room(reply) + reply, reply)
