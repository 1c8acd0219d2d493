"""The window as a budget: regions, what each asks for, what it is given, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from clew.budget.policy import DEFAULT, Policy
from clew.errors import BudgetExceeded, InputError, PinsDoNotFit


class Region(StrEnum):
    """The parts of a window, in the order they are shown."""

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

# Who is served first. Old tool output comes last: it is most of a session, and what is needed again of it
# can be fetched again. The reserves come before the history, because compacting the history needs them.
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
    Region.SYSTEM: "the system prompt goes as it is, never cut",
    Region.TOOLS: "tool definitions go as they are, never cut",
    Region.PINNED: "what must survive goes verbatim, never cut",
    Region.INSTRUCTIONS: "instruction files in scope",
    Region.MEMORY: "notes from memory that fit the task",
    Region.HISTORY: "what was said",
    Region.TOOL_OUTPUTS: "what tools answered",
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
    """The reason for its size, in words for people."""

    @property
    def cut(self) -> int:
        """Return what was asked for and not given."""
        return self.asked - self.given


@dataclass(frozen=True, slots=True)
class Allotment:
    """A window split to the last token: the slices and what is free."""

    window_tokens: int
    slices: tuple[Slice, ...]
    """One for each region, in the order of ``Region``."""

    @property
    def free_tokens(self) -> int:
        """Return what nobody asked for."""
        return self.window_tokens - sum(slice_.given for slice_ in self.slices)

    @property
    def cut_tokens(self) -> int:
        """Return what was asked for and not given, in all."""
        return sum(slice_.cut for slice_ in self.slices)

    def of(self, region: Region) -> Slice:
        """Return the slice of a region."""
        return next(slice_ for slice_ in self.slices if slice_.region is region)


def allot(window_tokens: int, asks: Mapping[Region, int], policy: Policy = DEFAULT) -> Allotment:
    """Split a window among the regions.

    A reserve that is not asked for gets what the policy keeps; any other region, nothing. Where the system
    prompt, the tools and the pins do not fit, ``BudgetExceeded`` or ``PinsDoNotFit`` is raised.
    """
    asked = _asked(window_tokens, asks, policy)
    _require_room_for_fixed(window_tokens, asked)
    most = _most(max(0, window_tokens - asked[Region.REPLY]), policy)
    given: dict[Region, int] = {}
    reasons: dict[Region, str] = {}
    left = window_tokens
    for region in _SERVED:
        wanted = min(asked[region], most.get(region, asked[region]))
        given[region] = min(wanted, left)
        reasons[region] = _why(region, asked[region], wanted, left)
        left -= given[region]
    slices = (Slice(region, asked[region], given[region], reasons[region]) for region in Region)
    return Allotment(window_tokens, tuple(slices))


def _asked(window_tokens: int, asks: Mapping[Region, int], policy: Policy) -> dict[Region, int]:
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


def _most(usable_tokens: int, policy: Policy) -> dict[Region, int]:
    """Return the regions that may not have all they ask for, however empty the window is."""
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
        return f"{purpose}; the policy gives it {wanted:,} tokens at the most"
    return purpose


def _require_room_for_fixed(window_tokens: int, asked: Mapping[Region, int]) -> None:
    needed = sum(asked[region] for region in FIXED)
    if needed <= window_tokens:
        return
    parts = ", ".join(f"{region} {asked[region]:,}" for region in FIXED)
    detail = f"{needed:,} tokens must be sent ({parts}) and the window has {window_tokens:,}"
    # Without the pins it would fit: then they are what has to change.
    fits_without_pins = needed - asked[Region.PINNED] <= window_tokens
    raise PinsDoNotFit(detail) if fits_without_pins else BudgetExceeded(detail)
