"""``Gauge`` measures how full the window of a model is under a policy, for sessions and for plain lists.

``Gauge(model, policy).measure({Region.HISTORY: 160_000})`` is a ``TokenBudget``: how full each region of the
window is, and the verdict: continue, warn, compact down to a size, or stop. ``measure`` does it for the
view of a session.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from clew.budget import (
    FRESH,
    Allotment,
    Cache,
    Compact,
    CompactionPrice,
    CostChoice,
    CostMove,
    Fill,
    Option,
    Outlook,
    Policy,
    Region,
    ResultArrived,
    Signal,
    State,
    TokenBudget,
    Window,
    allot,
    choose,
    compaction_price,
    judge,
    region_of,
    undo_price,
    window_for,
)
from clew.budget.cost import UndoPrice
from clew.message import Item, Role, ToolResult
from clew.tokens import ModelInfo, TokenCounter

if TYPE_CHECKING:
    from clew.compaction.task import Keep
    from clew.session.replay import Replay

MOST_LEFT = 0.6
"""The share of the usable window up to which a target may be raised..."""
MOST_LEFT_BESIDE = 0.4
"""...or this share of what compaction can touch, if a large system prompt leaves less; chosen by hand."""
OVERSIZED_SHARE = 0.5
"""The share of the usable window from which a new tool result is oversized although no caller reported it: a
smaller one fits, and the model asked to read it. Chosen by hand."""
WORTH_SAYING = 0.1
"""The share of a target by which it is raised before the reason says so: a question alone adds less."""
SUMMARY_SHARE = 0.3
"""The share of the target that a model-written digest is assumed to take; chosen by hand."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """Measures the window of one model under one policy."""

    model: ModelInfo
    policy: Policy
    window_tokens: int | None = None
    """Overrides the model's own window."""

    @property
    def window(self) -> Window:
        """Return the context window that is measured."""
        if self.window_tokens is None:
            return window_for(self.model, self.policy)
        return Window(self.window_tokens, self.policy.reply.of(self.window_tokens))

    def most_left(self, fixed_tokens: int) -> int:
        """Return the size up to which a compaction may leave more than the policy asks for.

        ``fixed_tokens`` are those that it never touches.
        """
        usable = self.window.usable_tokens
        beside = round(MOST_LEFT_BESIDE * max(0, usable - fixed_tokens))
        return max(round(MOST_LEFT * usable), fixed_tokens + beside)

    @property
    def keep(self) -> Keep:
        """Return how many recent messages stay verbatim."""
        from clew.compaction.task import Keep  # needed for a compaction only

        messages, tokens = self.policy.keep_messages, self.policy.keep_tokens or None
        if messages is None:
            return Keep(tokens=tokens)
        return Keep(max(1, messages), messages, tokens)

    def measure(
        self, tokens: Mapping[Region, int], signals: Iterable[Signal] = (), state: State = FRESH
    ) -> TokenBudget:
        """Return how full the window is, and whether to compact now."""
        expected = state.results.expected_tokens(self.policy, self.window.usable_tokens)
        allotment = self.allot({Region.NEXT_RESULT: expected, **tokens})
        return TokenBudget(allotment, judge(Fill.of(allotment, time.time()), self.policy, signals, state))

    def allot(self, tokens: Mapping[Region, int]) -> Allotment:
        """Split the window among the regions."""
        window = self.window
        return allot(window.tokens, {**tokens, Region.REPLY: window.reply_tokens}, self.policy)

    def weigh(
        self,
        allotment: Allotment,
        verdict: Compact,
        outlook: Outlook,
        *,
        with_model: bool,
        pruned: Option | None = None,
    ) -> CostChoice:
        """Compare waiting, pruning alone if that frees anything, and a digest down to the target."""
        fixed = allotment.of(Region.SYSTEM).given + allotment.of(Region.TOOLS).given
        digest = Option(
            CostMove.SUMMARISE,
            verdict.target_tokens,
            min(fixed, verdict.target_tokens),
            int(verdict.target_tokens * SUMMARY_SHARE) if with_model else 0,
        )
        return choose(outlook, [pruned, digest] if pruned else [digest], verdict)


def measure(
    replay: Replay,
    gauge: Gauge,
    signals: Sequence[Signal] = (),
    tokens_outside_view: Mapping[Region, int] | None = None,
) -> TokenBudget:
    """Measure how full the window is with the view of a session, and whether to compact it."""
    outside, pending = dict(tokens_outside_view or {}), replay.pending_tokens
    if Region.PINNED not in outside and pending:
        outside[Region.PINNED] = pending
    replay.outside_tokens = max(0, sum(outside.values()) - pending)
    tokens = {region: replay.counter.tokens(tally) for region, tally in replay.weights.items()}
    for region, more in outside.items():
        tokens[region] = tokens.get(region, 0) + more
    if not any(isinstance(signal, ResultArrived) for signal in signals):
        signals = (*signals, *oversized_results(replay.items, gauge, replay.counter))
    return gauge.measure(tokens, signals, replay.state)


def unread_count(items: Sequence[Item]) -> int:
    """Return how many of the last messages the model has not answered yet."""
    return sum(1 for _ in takewhile(lambda item: item.message.role is not Role.ASSISTANT, reversed(items)))


def with_unread(target_tokens: int, unread_tokens: int, most_tokens: int) -> int:
    """Return a target raised by what the model has not read yet, up to ``most_tokens``."""
    return max(target_tokens, min(target_tokens + unread_tokens, most_tokens))


def reason_with_unread(why: str, target_tokens: int, raised_tokens: int) -> str:
    """Return the reason of a compaction, which says so if ``with_unread`` raised its target by much."""
    if raised_tokens < (1 + WORTH_SAYING) * target_tokens:
        return why
    return (
        f"{why}; down to {raised_tokens:,}, not {target_tokens:,}: the model has not read the newest messages"
    )


def oversized_results(items: Sequence[Item], gauge: Gauge, counter: TokenCounter) -> list[ResultArrived]:
    """Return the unread tool results that alone take most of the window, unless they are to stay verbatim."""
    most = max(round(OVERSIZED_SHARE * gauge.window.usable_tokens), gauge.policy.keep_tokens)
    new = items[len(items) - unread_count(items) :]
    results = (part for item in new for part in item.message.parts if isinstance(part, ToolResult))
    sizes = [(counter.count_part(result), result.name or "a tool") for result in results]
    return [ResultArrived(tokens, name) for tokens, name in sizes if tokens > most]


def price_of(
    before: Sequence[Item],
    after: Sequence[Item],
    counter: TokenCounter,
    cache: Cache,
    *,
    with_model: bool = False,
) -> CompactionPrice:
    """Return what going from one view to another costs in prompt cache; ``with_model`` if one is called."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    sizes = [counter.count(item.message) for item in after]
    total = sum(counter.count(item.message) for item in before)
    summary = int(sum(sizes) * SUMMARY_SHARE) if with_model else 0
    return compaction_price(total, sum(sizes), sum(sizes[:same]), cache, summary)


def undo_price_of(
    before: Sequence[Item], after: Sequence[Item], counter: TokenCounter, cache: Cache
) -> UndoPrice:
    """Return what going back from one view to an earlier one costs in prompt cache."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    sizes = [counter.count(item.message) for item in after]
    total = sum(counter.count(item.message) for item in before)
    return undo_price(total, sum(sizes), sum(sizes[:same]), cache)


def by_region(items: Iterable[Item], sizes: Iterable[int]) -> dict[Region, int]:
    """Return the tokens of messages by region."""
    tokens: dict[Region, int] = {}
    for item, size in zip(items, sizes, strict=True):
        region = region_of(item.message, at_start=tokens.keys() <= {Region.SYSTEM})
        tokens[region] = tokens.get(region, 0) + size
    return tokens
