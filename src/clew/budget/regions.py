"""Split the window among regions: what each asks for, what it gets, and why.

Of 200,000 tokens, ``allot(200_000, {SYSTEM: 2_000, HISTORY: 60_000, TOOL_OUTPUTS: 120_000})`` keeps 35,200
free for the reply, a summary call and the next result, and gives the tool outputs what is left: 102,800.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from clew.budget.policy import DEFAULT, Policy
from clew.errors import BudgetExceeded, InputError, PinsDoNotFit
from clew.message import Message, Role, ToolResult


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
    most = _upper_bounds(max(0, window_tokens - asked[Region.REPLY]), policy)
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


def _upper_bounds(usable_tokens: int, policy: Policy) -> dict[Region, int]:
    """Return the upper bounds of the regions that have one."""
    return {
        Region.INSTRUCTIONS: policy.instructions.of(usable_tokens),
        Region.MEMORY: policy.memory.of(usable_tokens),
        Region.NEXT_RESULT: policy.next_result_most.of(usable_tokens),
    }


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
