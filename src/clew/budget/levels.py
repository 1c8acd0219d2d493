"""How full a window is, and the thresholds at which something happens."""

from __future__ import annotations

from dataclasses import dataclass

from clew.budget.policy import DEFAULT, Policy
from clew.budget.regions import FIXED, Allotment, Region
from clew.budget.results import ResultSizes
from clew.budget.window import Window

LEAST_GROWTH = 0.25
"""The share of the usable window that must be added before the next compaction, even if the last one left too
much; keeps compactions from following each other too closely. Chosen by hand."""
_UNTOUCHED = (*FIXED, Region.INSTRUCTIONS, Region.MEMORY)
_COMPACTABLE = (Region.HISTORY, Region.TOOL_OUTPUTS)


@dataclass(frozen=True, slots=True)
class Fill:
    """How full a window is before a request, with everything that would be sent."""

    window: Window
    used_tokens: int
    """Tokens of the next request, new input and tool results included."""
    fixed_tokens: int = 0
    """Of these, tokens that compaction never touches: system prompt, tools, pins, instructions, notes."""
    at_unix_s: float = 0.0
    """Time of the measurement."""

    @classmethod
    def of(cls, allotment: Allotment, at_unix_s: float = 0.0) -> Fill:
        """Return the fill before any compaction: history counts in full, uncut."""
        fixed = sum(allotment.of(region).given for region in _UNTOUCHED)
        history = sum(allotment.of(region).asked for region in _COMPACTABLE)
        window = Window(allotment.window_tokens, allotment.of(Region.REPLY).given)
        return cls(window, fixed + history, fixed, at_unix_s)

    def __str__(self) -> str:
        usable = self.window.usable_tokens
        share = f" ({self.used_tokens / usable:.0%})" if usable else ""
        return f"{self.used_tokens:,} of {usable:,} usable tokens are in use{share}"


@dataclass(frozen=True, slots=True)
class Levels:
    """The thresholds of a window, in tokens."""

    target: int
    """The size that a compaction under pressure leaves."""
    warn_at: int
    compact_at: int
    full_at: int
    """Above this not even a summary request fits."""
    why: str
    """The reason for ``compact_at``."""
    band: int
    """Tokens that must be added between two compactions."""


def levels_for(fill: Fill, policy: Policy, results: ResultSizes) -> Levels:
    """Return the policy's thresholds, lowered if the reserves need more room."""
    usable = fill.window.usable_tokens
    wanted = policy.compact_at.of(usable)
    full_at = usable - policy.summary_call.of(usable)
    next_result = results.expected_tokens(policy, usable)
    compact_at = min(wanted, max(0, full_at - next_result))
    if compact_at == wanted:
        why = policy.compact_at.why(usable)
    else:
        why = f"leaves {next_result:,} for the next tool result and {usable - full_at:,} for a summary"
    target = _target(compact_at, fill.fixed_tokens, policy, usable)
    return Levels(
        target=target,
        warn_at=min(policy.warn_at.of(usable), compact_at * 9 // 10),
        compact_at=compact_at,
        full_at=full_at,
        why=why,
        band=min(compact_at - target, round(LEAST_GROWTH * usable)),
    )


def _target(compact_at: int, fixed_tokens: int, policy: Policy, usable_tokens: int) -> int:
    """Return the target, lowered in proportion if ``compact_at`` was lowered."""
    high, low = policy.compact_at.of(usable_tokens), policy.down_to.of(usable_tokens)
    if low >= high:
        high, low = DEFAULT.compact_at.of(100), DEFAULT.down_to.of(100)
    return reachable(compact_at * low // high, compact_at, fixed_tokens)


def reachable(target_tokens: int, used_tokens: int, fixed_tokens: int) -> int:
    """Return a target that can be met: at least a fifth of the compactable tokens stays (chosen by hand)."""
    return max(target_tokens, fixed_tokens + max(0, used_tokens - fixed_tokens) // 5)
