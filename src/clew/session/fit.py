"""What is asked before a request: how full the window is, whether it is time to compact, and if it pays."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clew.budget import (
    FRESH,
    Allotment,
    Cache,
    Choice,
    Compact,
    Fill,
    Move,
    Option,
    Outlook,
    Policy,
    Region,
    Signal,
    State,
    TokenBudget,
    Verdict,
    Window,
    allot,
    choose,
    judge,
    requests_to_come,
    window_for,
)
from clew.compaction.propose.tail import Keep
from clew.log import TOKEN_BUDGET, new_event
from clew.log.events import Event
from clew.message import Item, JsonObject, Role
from clew.session.record import Compaction
from clew.session.replay import region_of
from clew.tokens import Model

MOST_LEFT = 0.6
"""Of the usable window, the most that a target is raised to."""
SUMMARY_SHARE = 0.3
"""Of the target, reckoned for the digest that a model writes."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was measured and decided before a request."""

    budget: TokenBudget
    choice: Choice | None = None
    """Whether the compaction pays; None where none was called for."""
    compaction: Compaction | None = None
    """What was done about it."""

    @property
    def verdict(self) -> Verdict:
        """Return whether to go on, warn, compact or stop."""
        return self.budget.verdict


@dataclass(frozen=True, slots=True)
class Gauge:
    """Measures the window of one model under one policy."""

    model: Model
    policy: Policy
    window_tokens: int | None = None
    """Less, or more, than the model's own."""

    @property
    def window(self) -> Window:
        """Return the window that is filled."""
        if self.window_tokens is None:
            return window_for(self.model, self.policy)
        return Window(self.window_tokens, self.policy.reply.of(self.window_tokens))

    @property
    def keep(self) -> Keep:
        """Return how much of the recent past stays verbatim."""
        return Keep(self.policy.keep_messages, self.policy.keep_tokens or None)

    def measure(
        self, tokens: Mapping[Region, int], signals: Iterable[Signal] = (), state: State = FRESH
    ) -> TokenBudget:
        """Say how full the window is with all that is there, and whether it is time to compact."""
        allotment = self.allot(tokens)
        return TokenBudget(allotment, judge(Fill.of(allotment, time.time()), self.policy, signals, state))

    def allot(self, tokens: Mapping[Region, int]) -> Allotment:
        """Split the window among what is there."""
        window = self.window
        return allot(window.tokens, {**tokens, Region.REPLY: window.reply_tokens}, self.policy)

    def weigh(
        self, allotment: Allotment, verdict: Compact, cache: Cache, requests: int, with_model: bool
    ) -> Choice:
        """Say whether the compaction that a verdict calls for pays."""
        used = Fill.of(allotment).used_tokens
        fixed = allotment.of(Region.SYSTEM).given + allotment.of(Region.TOOLS).given
        option = Option(
            Move.SUMMARISE if with_model else Move.PRUNE,
            verdict.target_tokens,
            min(fixed, verdict.target_tokens),
            int(verdict.target_tokens * SUMMARY_SHARE) if with_model else 0,
        )
        outlook = Outlook(used, cache, requests_to_come(requests))
        return choose(outlook, [option], verdict)


def with_unread(target_tokens: int, items: Sequence[Item], sizes: Sequence[int], usable_tokens: int) -> int:
    """Return a target that leaves what the model has not read yet whole, if that takes no more than most."""
    unread = 0
    for item, size in zip(reversed(items), reversed(sizes), strict=True):
        if item.message.role is Role.ASSISTANT:
            break
        unread += size
    return max(target_tokens, min(target_tokens + unread, round(MOST_LEFT * usable_tokens)))


def by_region(items: Iterable[Item], sizes: Iterable[int]) -> dict[Region, int]:
    """Return what messages of these sizes take, by region."""
    tokens: dict[Region, int] = {}
    for item, size in zip(items, sizes, strict=True):
        region = region_of(item.message, leads=tokens.keys() <= {Region.SYSTEM})
        tokens[region] = tokens.get(region, 0) + size
    return tokens


def budget_event(fitted: Fitted, about: JsonObject | None = None) -> Event:
    """Make the event that tells of it, and of what else the caller knows about the request."""
    body = fitted.budget.to_json()
    if about:
        body["request"] = about
    if fitted.choice:
        body["choice"] = fitted.choice.to_json()
    return new_event(TOKEN_BUDGET.name, body, TOKEN_BUDGET.version)
