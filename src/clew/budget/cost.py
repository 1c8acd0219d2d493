"""Estimate whether a compaction pays: its cost now against its saving on every later request.

Without a compaction the next request resends the view: read from the prompt cache if that is warm, written to
it again if it is cold. With one, a model may first read everything and write a summary; then the unchanged
prefix is resent and the rest of the smaller view is written to the cache. The difference is paid once. Every
later request then reads fewer tokens; later requests are assumed to find the cache warm. For example: pruning
150,000 cached tokens of Claude Opus to 60,000, of which 10,000 are unchanged, costs $0.24 once and saves
$0.045 a request, so it pays off after 5.4 requests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from clew.budget.verdict import Compact
from clew.errors import InputError
from clew.message import JsonObject
from clew.tokens import ModelInfo

FIVE_MINUTES = 300.0
"""The lifetime of most prompt caches after their last use."""
HOUR = 3_600.0
"""The lifetime of prompt caches that cost more to write."""
USUAL_OUTPUT = 5.0
"""The assumed price of output relative to input if the prices are unknown; most vendors charge about this."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost in plain input tokens, and in dollars if the model's price is known."""

    tokens: float
    input_price: float | None = None
    """US dollars per million tokens."""

    @property
    def dollars(self) -> float | None:
        """Return the cost in US dollars."""
        return None if self.input_price is None else self.tokens * self.input_price / 1e6

    def times(self, number: float) -> Cost:
        """Return the cost multiplied by a number."""
        return Cost(self.tokens * number, self.input_price)

    def __str__(self) -> str:
        if self.dollars is None:
            return f"{round(self.tokens):,} input tokens"
        sign, amount = "-" if self.dollars < 0 else "", abs(self.dollars)
        if amount >= 0.995 or not amount:
            return f"{sign}${amount:.2f}"
        places = 1 - math.floor(math.log10(amount))  # two digits that are not zero
        return f"{sign}${f'{amount:.{places}f}'.rstrip('0')}"


@dataclass(frozen=True, slots=True)
class Cache:
    """The prompt cache of a session: its model, age and lifetime.

    Prefixes below the provider's minimum are not cached; that is ignored here because compaction matters only
    at much larger sizes.
    """

    model: ModelInfo
    age_seconds: float | None = None
    """Seconds since the last request; None before the first."""
    life_seconds: float = FIVE_MINUTES

    @property
    def warm(self) -> bool:
        """Whether the last prefix can still be read from the cache."""
        return self.age_seconds is not None and self.age_seconds < self.life_seconds

    @property
    def read(self) -> float:
        """Return the price of reading a token, in plain input tokens."""
        return self.model.cache_read

    @property
    def write(self) -> float:
        """Return the price of writing a token for this lifetime, in plain input tokens."""
        hour = self.model.cache_write_hour
        return hour if hour is not None and self.life_seconds >= HOUR else self.model.cache_write

    @property
    def resend(self) -> float:
        """Return the price of a token that was sent before: a read if warm, a write if cold."""
        return self.read if self.warm else self.write

    def cost(self, tokens: float) -> Cost:
        """Return a number of plain input tokens as a cost."""
        return Cost(tokens, self.model.input_price)


def relative_output_price(model: ModelInfo) -> float:
    """Return the price of a model's output relative to its input; the usual one if unknown or free."""
    if not model.input_price or model.output_price is None:
        return USUAL_OUTPUT
    return model.output_price / model.input_price


def relative_price(model: ModelInfo, other: ModelInfo) -> float:
    """Return the price of a model's input relative to another's; 1 if either is unknown or free."""
    if not model.input_price or not other.input_price:
        return 1.0
    return model.input_price / other.input_price


def long_input(model: ModelInfo, request_tokens: int) -> float:
    """Return the input price factor of a request of this size: above 1 where long requests cost more."""
    return model.long_input if _is_long(model, request_tokens) else 1.0


def long_output(model: ModelInfo, request_tokens: int) -> float:
    """Return the output price factor of a request of this size: above 1 where long requests cost more."""
    return model.long_output if _is_long(model, request_tokens) else 1.0


def _is_long(model: ModelInfo, request_tokens: int) -> bool:
    return model.long_from_tokens is not None and request_tokens > model.long_from_tokens


FEWEST_REQUESTS = 15.0
"""Least expected number of later requests; see ``MOST_REQUESTS``."""
MOST_REQUESTS = 50.0
"""Bounds of the expected number of later requests, from 390 real coding sessions: of those that continued
after 2, 10, 40 or 160 requests, three in four had at least 13 to 29 more and half had at least 33 to 58 more,
mostly independent of their length so far."""


class CostMove(StrEnum):
    """The possible moves, least invasive first."""

    WAIT = "wait"
    PRUNE = "prune"
    SUMMARISE = "summarise"


@dataclass(frozen=True, slots=True)
class Option:
    """One way to make a view smaller."""

    move: CostMove
    after_tokens: int
    """The size of the view afterwards."""
    stable_tokens: int = 0
    """Of these, the prefix that stays byte-identical and so stays cached."""
    summary_tokens: int = 0
    """Tokens that a model has to write; 0 without a model."""
    writer: ModelInfo | None = None
    """A different model that writes the summary, reading everything uncached; None for the session's own."""

    def __post_init__(self) -> None:
        if not 0 <= self.stable_tokens <= self.after_tokens or self.summary_tokens < 0:
            sizes = f"{self.stable_tokens} stable of {self.after_tokens}, {self.summary_tokens} of a summary"
            raise InputError(f"{self.move}: these tokens are impossible: {sizes}")


@dataclass(frozen=True, slots=True)
class Outlook:
    """The request to send, and how many are expected to follow."""

    tokens: int
    """Tokens of the view."""
    cache: Cache
    expected_requests: float
    """Requests after the next one; see ``requests_to_come``."""
    fresh_tokens: int = 0
    """Tokens of the view that were never sent and so are not cached, such as a new tool result."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost and saving of an option."""

    option: Option
    once: Cost
    """Extra cost of the next request, writing the summary included; negative if it is cheaper even then."""
    saved: Cost
    """Saving on each later request."""
    expected_requests: float

    @property
    def pays_off_after(self) -> float:
        """Return the number of later requests that earn the cost back; infinite if none do."""
        if self.once.tokens <= 0:
            return 0.0
        return self.once.tokens / self.saved.tokens if self.saved.tokens > 0 else math.inf

    @property
    def net(self) -> Cost:
        """Return the total saving; negative if it does not pay."""
        return Cost(self.saved.tokens * self.expected_requests - self.once.tokens, self.once.input_price)

    def __str__(self) -> str:
        after = self.pays_off_after
        if after == 0:
            return f"{self.option.move} saves {self.once.times(-1)} at once and {self.saved} a request"
        when = "never pays off"
        if math.isfinite(after):
            when = (
                f"pays off after {math.ceil(after * 10) / 10} requests"  # 1.25 is not yet reached after 1.2
            )
        return (
            f"{self.option.move} costs {self.once} once and saves {self.saved} a request: "
            f"{when}, {self.expected_requests:.0f} expected"
        )


@dataclass(frozen=True, slots=True)
class CostChoice:
    """The cheapest move, with the estimates behind it."""

    move: CostMove
    why: str
    estimates: tuple[Estimate, ...]

    def to_json(self) -> JsonObject:
        """Return the choice as plain JSON, for the report of a compaction."""
        return {
            "move": self.move.value,
            "why": self.why,
            "estimates": [_estimate_to_json(estimate) for estimate in self.estimates],
        }


def estimate(outlook: Outlook, option: Option) -> Estimate:
    """Return the cost and saving of an option, compared with sending the view unchanged."""
    cache = outlook.cache
    factor_before = long_input(cache.model, outlook.tokens)
    factor_after = long_input(cache.model, option.after_tokens)
    sent_before = outlook.tokens - outlook.fresh_tokens
    unchanged = (sent_before * cache.resend + outlook.fresh_tokens * cache.write) * factor_before
    rewritten = option.after_tokens - option.stable_tokens
    after = (option.stable_tokens * cache.resend + rewritten * cache.write) * factor_after
    once = _summary_cost(outlook, option) + after - unchanged
    saved = (outlook.tokens * factor_before - option.after_tokens * factor_after) * cache.read
    return Estimate(option, cache.cost(once), cache.cost(saved), outlook.expected_requests)


def _summary_cost(outlook: Outlook, option: Option) -> float:
    """Return the price of the summary call, in input tokens of the session's model."""
    if not option.summary_tokens:
        return 0.0
    cache = outlook.cache
    model = option.writer or cache.model
    # The session's own model reads the shared prefix from the cache. A summary request is sent only once, so
    # its uncached part is not written to the cache.
    cached = outlook.tokens - outlook.fresh_tokens if cache.warm and option.writer is None else 0
    reading = cached * cache.read + (outlook.tokens - cached)
    writing = option.summary_tokens * relative_output_price(model)
    cost = reading * long_input(model, outlook.tokens) + writing * long_output(model, outlook.tokens)
    return cost * relative_price(model, cache.model)


def requests_to_come(made: int, growth_tokens: float = 0.0, room_tokens: float = math.inf) -> float:
    """Return how many more requests to expect, from the number made so far.

    As many again, between ``FEWEST_REQUESTS`` and ``MOST_REQUESTS``; but no more than fit before the window
    is full anyway, if each request adds ``growth_tokens`` and ``room_tokens`` are left.
    """
    likely = min(MOST_REQUESTS, max(FEWEST_REQUESTS, float(made)))
    until_pressure = max(0.0, room_tokens) / growth_tokens if growth_tokens > 0 else math.inf
    return min(likely, until_pressure)


def choose(outlook: Outlook, options: Sequence[Option], verdict: Compact | None = None) -> CostChoice:
    """Choose the option with the largest total saving, or to wait if none saves anything.

    A ``verdict`` that cannot wait (pressure, or a user's request) is carried out whether or not it pays, with
    the best option that reaches its target, or else the smallest.
    """
    estimates = tuple(estimate(outlook, option) for option in options)
    if not estimates:
        return CostChoice(CostMove.WAIT, "wait: there is nothing to do", estimates)
    if verdict is not None and verdict.must:
        return _choose_regardless(estimates, verdict)
    best = max(estimates, key=_net)
    if _net(best) > 0:
        return CostChoice(best.option.move, f"{best}; {best.net} saved in total", estimates)
    return CostChoice(CostMove.WAIT, f"wait: {best}", estimates)


def _choose_regardless(estimates: tuple[Estimate, ...], verdict: Compact) -> CostChoice:
    """Choose for a compaction that must run: the best option that reaches its target, else the smallest."""
    enough = [each for each in estimates if each.option.after_tokens <= verdict.target_tokens]
    smallest = min(estimates, key=lambda each: each.option.after_tokens)
    best = max(enough, key=_net, default=smallest)
    if _net(best) > 0:
        return CostChoice(best.option.move, f"{best}; {best.net} saved in total", estimates)
    return CostChoice(best.option.move, f"{best}; runs although it does not pay: {verdict.why}", estimates)


def _net(estimate: Estimate) -> float:
    return estimate.net.tokens


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


@dataclass(frozen=True, slots=True)
class UndoPrice:
    """The price of undoing a compaction."""

    once: Cost
    """Extra cost of the next request."""
    each: Cost
    """Extra cost of every later request, because the view is larger again."""

    def __str__(self) -> str:
        return f"undoing costs {self.once} on the next request and {self.each} on each one after it"


def undo_price(
    tokens: int, restored_tokens: int, stable_tokens: int, cache: Cache, unseen_seconds: float = math.inf
) -> UndoPrice:
    """Return the price of going back from a view of ``tokens`` to one of ``restored_tokens``.

    The first ``stable_tokens`` are the same in both. ``unseen_seconds`` is how long ago the larger view was
    last sent: if the cache still has it, it is read and not written.
    """
    first_send = cache.read if unseen_seconds < cache.life_seconds else cache.write
    changed = restored_tokens - stable_tokens
    restored_factor = long_input(cache.model, restored_tokens)
    current_factor = long_input(cache.model, tokens)
    back = (stable_tokens * min(cache.resend, first_send) + changed * first_send) * restored_factor
    stay = tokens * cache.resend * current_factor
    each = (restored_tokens * restored_factor - tokens * current_factor) * cache.read
    return UndoPrice(cache.cost(back - stay), cache.cost(each))


@dataclass(frozen=True, slots=True)
class CompactionPrice:
    """What a compaction costs in prompt cache, and what it saves afterwards."""

    missed_tokens: int
    """Tokens of the next request that the cache does not have, since the compaction rewrites them."""
    once: Cost
    """Extra cost of the next request; negative if it is cheaper even then."""
    each: Cost
    """Saving on every later request."""

    def __str__(self) -> str:
        more = f"{self.once} more" if self.once.tokens > 0 else f"{self.once.times(-1)} less"
        return (
            f"{self.missed_tokens:,} tokens of the next request miss the provider's cache; "
            f"that request costs {more}, each one after it {self.each} less"
        )

    def to_json(self) -> JsonObject:
        """Return it as JSON."""
        return {
            "missed_tokens": self.missed_tokens,
            "once_input_tokens": round(self.once.tokens),
            "once_dollars": self.once.dollars,
            "saved_input_tokens": round(self.each.tokens),
            "saved_dollars": self.each.dollars,
        }


def compaction_price(
    tokens: int, after_tokens: int, stable_tokens: int, cache: Cache, summary_tokens: int = 0
) -> CompactionPrice:
    """Return the price of going from a view of ``tokens`` to one of ``after_tokens``.

    The first ``stable_tokens`` are the same in both. ``summary_tokens`` is what a model writes for it.
    """
    option = Option(
        CostMove.SUMMARISE if summary_tokens else CostMove.PRUNE, after_tokens, stable_tokens, summary_tokens
    )
    result = estimate(Outlook(tokens, cache, 0.0), option)
    missed = after_tokens - (stable_tokens if cache.warm else 0)
    return CompactionPrice(missed, result.once, result.saved)
