"""The settings of a budget (when to compact, how far down, what is kept free), and how a window is split.

``Policy(compact_at=Limit(share=0.85, tokens=120_000))`` compacts at 85 % of the usable window or at 120,000
tokens, whichever is less. Of 200,000 tokens, ``allot(200_000, {SYSTEM: 2_000, HISTORY: 60_000, TOOL_OUTPUTS:
120_000})`` keeps 35,200 free for the reply, a summary call and the next result, and gives the tool outputs
what is left: 102,800.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from clew.errors import BudgetExceeded, InputError, PinsDoNotFit
from clew.message import Message, Role, ToolResult
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
less: on 94 real session shapes (``bench/results/band.md``) 60 % costs 1.5 times as much as 30 %, and 20 %
saves 5 % more than 30 %.
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
        for name, number in (("keep_messages", self.keep_messages or 0), ("keep_tokens", self.keep_tokens)):
            if number < 0:
                raise InputError(f"{name} is {number}, and cannot be below 0")
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


# How a window is split ------------------------------------------------------------------------------


class Region(StrEnum):
    """The parts of a window, in display order."""

    SYSTEM = "system"
    TOOLS = "tools"
    PINNED = "pinned"
    INSTRUCTIONS = "instructions"
    MEMORY = "memory"
    HISTORY = "history"
    TOOL_OUTPUTS = "tool outputs"
    SUMMARY_CALL = "summary call"
    NEXT_RESULT = "next result"
    REPLY = "reply"


FIXED = (Region.SYSTEM, Region.TOOLS, Region.PINNED)
"""Never cut: if these do not fit, nothing may be sent."""

# The order in which regions are served. Old tool output comes last: it is most of a session, and can be
# fetched again if needed. The reserves come before the history, because compacting the history needs them.
_SERVED = (
    *FIXED,
    Region.REPLY,
    Region.INSTRUCTIONS,
    Region.MEMORY,
    Region.SUMMARY_CALL,
    Region.NEXT_RESULT,
    Region.HISTORY,
    Region.TOOL_OUTPUTS,
)

_PURPOSE: Mapping[Region, str] = {
    Region.SYSTEM: "system prompt, never cut",
    Region.TOOLS: "tool definitions, never cut",
    Region.PINNED: "pinned rules, verbatim, never cut",
    Region.INSTRUCTIONS: "instruction files in scope",
    Region.MEMORY: "notes from memory that match the task",
    Region.HISTORY: "messages",
    Region.TOOL_OUTPUTS: "tool results",
    Region.SUMMARY_CALL: "kept free for the call that writes a summary",
    Region.NEXT_RESULT: "kept free for the next tool result",
    Region.REPLY: "kept free for the reply",
}


@dataclass(frozen=True, slots=True)
class Slice:
    """One region's part of the window, in tokens."""

    region: Region
    asked: int
    given: int
    why: str
    """The reason for its size, as text."""

    @property
    def cut(self) -> int:
        """Return the tokens asked for and not given."""
        return self.asked - self.given


@dataclass(frozen=True, slots=True)
class Allotment:
    """A window split completely into slices and free tokens."""

    window_tokens: int
    slices: tuple[Slice, ...]
    """One for each region, in the order of ``Region``."""

    @property
    def free_tokens(self) -> int:
        """Return the tokens that were given to no region."""
        return self.window_tokens - sum(slice_.given for slice_ in self.slices)

    def of(self, region: Region) -> Slice:
        """Return the slice of a region."""
        return next(slice_ for slice_ in self.slices if slice_.region is region)


def allot(window_tokens: int, asks: Mapping[Region, int], policy: Policy = DEFAULT) -> Allotment:
    """Split a window among the regions.

    A reserve missing in ``asks`` gets what the policy keeps free; any other missing region gets nothing.
    Raises ``BudgetExceeded`` or ``PinsDoNotFit`` if system prompt, tools and pins do not fit.
    """
    asked = _requested_by_region(window_tokens, asks, policy)
    _require_room_for_fixed(window_tokens, asked)
    usable = max(0, window_tokens - asked[Region.REPLY])
    most = {
        Region.INSTRUCTIONS: policy.instructions.of(usable),
        Region.MEMORY: policy.memory.of(usable),
        Region.NEXT_RESULT: policy.next_result_most.of(usable),
    }
    granted: dict[Region, int] = {}
    reasons: dict[Region, str] = {}
    left = window_tokens
    for region in _SERVED:
        wanted = min(asked[region], most.get(region, asked[region]))
        granted[region] = min(wanted, left)
        reasons[region] = _why(region, asked[region], wanted, left)
        left -= granted[region]
    slices = (Slice(region, asked[region], granted[region], reasons[region]) for region in Region)
    return Allotment(window_tokens, tuple(slices))


def _requested_by_region(window_tokens: int, asks: Mapping[Region, int], policy: Policy) -> dict[Region, int]:
    wrong = [f"{region} asks for {tokens}" for region, tokens in asks.items() if tokens < 0]
    if window_tokens < 0 or wrong:
        raise InputError(", ".join(wrong) or f"a window of {window_tokens} tokens")
    reply = asks.get(Region.REPLY, policy.reply.of(window_tokens))
    usable = max(0, window_tokens - reply)
    reserves = {
        Region.REPLY: reply,
        Region.SUMMARY_CALL: policy.summary_call.of(usable),
        Region.NEXT_RESULT: policy.next_result.of(usable),
    }
    return {region: asks.get(region, reserves.get(region, 0)) for region in Region}


def _why(region: Region, asked: int, wanted: int, left: int) -> str:
    purpose = _PURPOSE[region]
    if left < wanted:
        return f"{purpose}; {left:,} of {asked:,} tokens were left for it"
    if wanted < asked:
        return f"{purpose}; the policy allows {wanted:,} tokens"
    return purpose


def _require_room_for_fixed(window_tokens: int, asked: Mapping[Region, int]) -> None:
    needed = sum(asked[region] for region in FIXED)
    if needed <= window_tokens:
        return
    parts = ", ".join(f"{region} {asked[region]:,}" for region in FIXED)
    detail = f"{needed:,} tokens must be sent ({parts}) and the window has {window_tokens:,}"
    # If it would fit without the pins, the pins are what has to change.
    fits_without_pins = needed - asked[Region.PINNED] <= window_tokens
    raise PinsDoNotFit(detail) if fits_without_pins else BudgetExceeded(detail)


def region_of(message: Message, *, at_start: bool = True) -> Region:
    """Return the region of the window that a message counts for.

    System messages at the start of the view (``at_start``: only system messages come before) are the system
    prompt. Later ones are history, which may be condensed.
    """
    if at_start and message.role in (Role.SYSTEM, Role.DEVELOPER):
        return Region.SYSTEM
    for part in message.parts:  # called for every message: a generator takes twice as long
        if isinstance(part, ToolResult):
            return Region.TOOL_OUTPUTS
    return Region.HISTORY
