"""Does a compaction pay? Its cost now, in summary and cache, against what it saves on every later request.

Without a compaction the next request resends the view: read from the cache while that is warm, written to it
anew when it is cold. With one, a model may first read it all and write a summary; then the prefix that did
not change is resent, and the rest of the smaller view is written. What that costs more is paid once. Every
later request reads so much less; later requests are assumed to find the cache warm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from clew.budget.prices import Cache, Cost, long_input, long_output, output_price, relative_price
from clew.budget.trigger import Compact
from clew.errors import InputError
from clew.message import JsonObject
from clew.tokens import Model

FEWEST_REQUESTS = 15.0
MOST_REQUESTS = 50.0
"""Of 390 real coding sessions, those that went on after 2, 10, 40 or 160 requests had at least 13 to 29 more
in three cases of four and 33 to 58 more in two, with little regard to how long they had been. So, as many
again as there were, within these bounds."""


class Move(StrEnum):
    """What can be done, gentlest first."""

    WAIT = "wait"
    PRUNE = "prune"
    SUMMARISE = "summarise"


@dataclass(frozen=True, slots=True)
class Option:
    """One way to make a view smaller."""

    move: Move
    after_tokens: int
    """How large the view would be."""
    stable_tokens: int = 0
    """Of it, the prefix that stays as it is byte for byte, and so stays cached."""
    summary_tokens: int = 0
    """What a model has to write; 0 where none is asked."""
    writer: Model | None = None
    """Another model that writes it, reading everything uncached; None for the session's own."""

    def __post_init__(self) -> None:
        if not 0 <= self.stable_tokens <= self.after_tokens or self.summary_tokens < 0:
            raise InputError(f"{self.move}: {self.stable_tokens} stable of {self.after_tokens} tokens")


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is to be sent, and what is likely to follow."""

    tokens: int
    """The view as it is."""
    cache: Cache
    expected_requests: float
    """After the next one; see ``requests_to_come``."""
    fresh_tokens: int = 0
    """Of the view, what was never sent and so is not in the cache yet: a tool result that has just come."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an option costs and saves."""

    option: Option
    once: Cost
    """More than the next plain request, all told; below zero where even that is cheaper."""
    saved: Cost
    """On each request after that."""
    expected_requests: float

    @property
    def pays_off_after(self) -> float:
        """Return the number of later requests that earn the cost back; infinite where none do."""
        if self.once.tokens <= 0:
            return 0.0
        return self.once.tokens / self.saved.tokens if self.saved.tokens > 0 else math.inf

    @property
    def net(self) -> Cost:
        """Return what is saved in the end; below zero where it does not pay."""
        return Cost(self.saved.tokens * self.expected_requests - self.once.tokens, self.once.input_price)

    def __str__(self) -> str:
        after = self.pays_off_after
        if after == 0:
            return f"{self.option.move} saves {self.once.times(-1)} at once and {self.saved} a request"
        when = "never pays off" if math.isinf(after) else f"pays off after {_up(after)} requests"
        return (
            f"{self.option.move} costs {self.once} once and saves {self.saved} a request: "
            f"{when}, {self.expected_requests:.0f} expected"
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """What to do, in regard of cost."""

    move: Move
    why: str
    estimates: tuple[Estimate, ...]

    def to_json(self) -> JsonObject:
        """Return it as plain JSON, for the report of a compaction."""
        return {
            "move": self.move.value,
            "why": self.why,
            "estimates": [_estimate_to_json(estimate) for estimate in self.estimates],
        }


def estimate(outlook: Outlook, option: Option) -> Estimate:
    """Return what an option costs and saves against sending the view as it is."""
    cache = outlook.cache
    dear_before = long_input(cache.model, outlook.tokens)
    dear_after = long_input(cache.model, option.after_tokens)
    sent_before = outlook.tokens - outlook.fresh_tokens
    plain = (sent_before * cache.resend + outlook.fresh_tokens * cache.write) * dear_before
    rewritten = option.after_tokens - option.stable_tokens
    after = (option.stable_tokens * cache.resend + rewritten * cache.write) * dear_after
    once = _summary(outlook, option) + after - plain
    saved = (outlook.tokens * dear_before - option.after_tokens * dear_after) * cache.read
    return Estimate(option, cache.cost(once), cache.cost(saved), outlook.expected_requests)


def _summary(outlook: Outlook, option: Option) -> float:
    """Return the price of the call that writes the summary, in tokens of the session's input."""
    if not option.summary_tokens:
        return 0.0
    cache = outlook.cache
    model = option.writer or cache.model
    # The session's own model reads the shared prefix from the cache. Nobody reads a request for a summary
    # again, so what is not cached is sent without being written to the cache.
    cached = outlook.tokens - outlook.fresh_tokens if cache.warm and option.writer is None else 0
    reading = cached * cache.read + (outlook.tokens - cached)
    writing = option.summary_tokens * output_price(model)
    dear = reading * long_input(model, outlook.tokens) + writing * long_output(model, outlook.tokens)
    return dear * relative_price(model, cache.model)


def requests_to_come(made: int, growth_tokens: float = 0.0, room_tokens: float = math.inf) -> float:
    """Return how many more requests to reckon with, from those made so far.

    As many again, between ``FEWEST_REQUESTS`` and ``MOST_REQUESTS``; but no more than fit before pressure
    compacts anyway: with ``growth_tokens`` a request, ``room_tokens`` to go.
    """
    likely = min(MOST_REQUESTS, max(FEWEST_REQUESTS, float(made)))
    until_pressure = max(0.0, room_tokens) / growth_tokens if growth_tokens > 0 else math.inf
    return min(likely, until_pressure)


def choose(outlook: Outlook, options: Sequence[Option], verdict: Compact | None = None) -> Choice:
    """Choose the option that saves most in the end, or to wait where none saves anything.

    A ``verdict`` that must be carried out (pressure, or a user who asked) is: with the best option that
    reaches its target, failing that the smallest, whether or not it pays.
    """
    found = tuple(estimate(outlook, option) for option in options)
    if not found:
        return Choice(Move.WAIT, "wait: there is nothing to do", found)
    if verdict is not None and verdict.must:
        return _regardless(found, verdict)
    best = max(found, key=_net)
    if _net(best) > 0:
        return Choice(best.option.move, f"{best}; {best.net} saved in the end", found)
    return Choice(Move.WAIT, f"wait: {best}", found)


def _regardless(found: tuple[Estimate, ...], verdict: Compact) -> Choice:
    enough = [each for each in found if each.option.after_tokens <= verdict.target_tokens]
    smallest = min(found, key=lambda each: each.option.after_tokens)
    best = max(enough, key=_net, default=smallest)
    if _net(best) > 0:
        return Choice(best.option.move, f"{best}; {best.net} saved in the end", found)
    return Choice(best.option.move, f"{best}; it does not pay, and runs anyway: {verdict.why}", found)


def _net(estimate: Estimate) -> float:
    return estimate.net.tokens


def _up(number: float) -> float:
    """Round up to a tenth: what pays off after 1.25 requests has not after 1.2."""
    return math.ceil(number * 10) / 10


def _estimate_to_json(estimate: Estimate) -> JsonObject:
    after = estimate.pays_off_after
    return {
        "move": estimate.option.move.value,
        "after_tokens": estimate.option.after_tokens,
        "once_input_tokens": round(estimate.once.tokens),
        "once_dollars": estimate.once.dollars,
        "saved_input_tokens": round(estimate.saved.tokens),
        "saved_dollars": estimate.saved.dollars,
        "pays_off_after": None if math.isinf(after) else after,
        "expected_requests": estimate.expected_requests,
    }
