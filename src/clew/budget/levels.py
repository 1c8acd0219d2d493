"""How full a window is (``Fill``), and the sizes at which to warn, to compact, and to stop (``Levels``).

``levels_for(fill, policy, results).compact_at`` is 163,200 of 192,000 usable tokens by default. ``judge`` in
``verdict.py`` compares the fill with these levels.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.budget.policy import DEFAULT, FIXED, Allotment, Policy, Region, Window
from clew.budget.state import ResultSizes

LEAST_GROWTH = 0.25
"""The share of the usable window that must be added before the next compaction, even if the last one left too
much; keeps compactions from following each other too closely. Chosen by hand."""
LEAST_LEFT = 1_000
"""Tokens that a compaction under pressure leaves beside what it never touches, if there is room: a few
hundred for goal, rules and open work, the rest for the last messages. Chosen by hand."""
_UNTOUCHED = (*FIXED, Region.INSTRUCTIONS, Region.MEMORY)
"""Regions that compaction never touches."""
_COMPACTABLE = (Region.HISTORY, Region.TOOL_OUTPUTS)
"""Regions that it makes smaller."""


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

    @property
    def fits(self) -> bool:
        """Whether the next request fits as it is."""
        return self.used_tokens <= self.window.usable_tokens

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
    """Return the policy's thresholds, lowered if the reserves need more room.

    With 192,000 usable tokens and nothing fixed, the default policy warns at 144,000 (75 %), compacts at
    163,200 (85 %) down to 57,600 (30 %), and is full at 184,000: 8,000 are kept for a summary request.

    There are two reserves, for a summary request and for the next tool result. If what compaction never
    touches (``fixed``) fills most of the window, each takes at most half of what is left; and if compaction
    would start so low that nothing could stay, it starts at half of the room instead.
    """
    usable, fixed = fill.window.usable_tokens, fill.fixed_tokens
    summary_call = min(policy.summary_call.of(usable), max(0, usable - fixed) // 2)
    full_at = usable - summary_call
    room = max(0, full_at - fixed)
    next_result = min(results.expected_tokens(policy, usable), room // 2)
    least_left = min(LEAST_LEFT, room // 3)
    lowest = fixed + 2 * least_left
    by_policy, by_reserves = policy.compact_at.of(usable), full_at - next_result
    if min(by_policy, by_reserves) < lowest:
        compact_at = max(lowest, fixed + room // 2)
        why = f"half of the room beside {fixed:,} that compaction never touches"
    elif by_policy <= by_reserves:
        compact_at, why = by_policy, policy.compact_at.why(usable)
    else:
        compact_at = by_reserves
        why = f"leaves {next_result:,} for the next tool result and {summary_call:,} for a summary"
    target = max(_target(compact_at, fixed, policy, usable), fixed + least_left)
    return Levels(
        target=target,
        warn_at=min(policy.warn_at.of(usable), compact_at * 9 // 10),
        compact_at=compact_at,
        full_at=full_at,
        why=why,
        band=min(compact_at - target, round(LEAST_GROWTH * usable)),
    )


NARROWEST_BAND = 0.75
"""The largest share of ``compact_at`` that the default target may be; chosen by hand.

Of 192,000 usable tokens the default target is 57,600. If a person sets ``compact_at`` to 80,000, that is 72 %
of it and stays. With 70,000 it would be 82 %, and compactions would soon follow each other: the target is
24,705, as far below 70,000 as the default target is below the default threshold (30 to 85)."""


def _target(compact_at: int, fixed_tokens: int, policy: Policy, usable_tokens: int) -> int:
    """Return the target, lowered in proportion if ``compact_at`` was lowered."""
    high, low = policy.compact_at.of(usable_tokens), policy.down_to.of(usable_tokens)
    is_default = policy.down_to == DEFAULT.down_to
    if low >= high or (is_default and low > high * NARROWEST_BAND):
        high, low = DEFAULT.compact_at.of(100), DEFAULT.down_to.of(100)
    return reachable(compact_at * low // high, compact_at, fixed_tokens)


def reachable(target_tokens: int, used_tokens: int, fixed_tokens: int) -> int:
    """Return a target that can be met: at least a fifth of the compactable tokens stays (chosen by hand)."""
    return max(target_tokens, fixed_tokens + max(0, used_tokens - fixed_tokens) // 5)
