"""The price of a request in plain input tokens, with a warm or a cold prompt cache."""

from __future__ import annotations

from dataclasses import dataclass

from clew.tokens import Model

FIVE_MINUTES = 300.0
"""The lifetime of most prompt caches after their last use."""
HOUR = 3_600.0
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
            return f"{self.tokens:,.0f} input tokens"
        sign, amount = "-" if self.dollars < 0 else "", abs(self.dollars)
        return f"{sign}${amount:.2f}" if amount >= 0.995 or not amount else f"{sign}${amount:.2g}"


@dataclass(frozen=True, slots=True)
class Cache:
    """The prompt cache of a session: its model, age and lifetime.

    Prefixes below the provider's minimum are not cached; that is ignored here because compaction matters only
    at much larger sizes.
    """

    model: Model
    age_seconds: float | None = None
    """Seconds since the last request; None before the first."""
    life_seconds: float = FIVE_MINUTES

    @property
    def warm(self) -> bool:
        """Whether the last prefix can still be read from the cache."""
        return self.age_seconds is not None and self.age_seconds < self.life_seconds

    @property
    def read(self) -> float:
        """Return the price of reading a token."""
        return self.model.cache_read

    @property
    def write(self) -> float:
        """Return the price of writing a token, for this lifetime."""
        hour = self.model.cache_write_hour
        return hour if hour is not None and self.life_seconds >= HOUR else self.model.cache_write

    @property
    def resend(self) -> float:
        """Return the price of a token that was sent before: a read if warm, a write if cold."""
        return self.read if self.warm else self.write

    def cost(self, tokens: float) -> Cost:
        """Return a number of plain input tokens as a cost."""
        return Cost(tokens, self.model.input_price)


def output_price(model: Model) -> float:
    """Return the price of a model's output relative to its input."""
    if model.input_price is None or model.output_price is None:
        return USUAL_OUTPUT
    return model.output_price / model.input_price


def relative_price(model: Model, other: Model) -> float:
    """Return the price of a model's input relative to another's; 1 if either is unknown."""
    if model.input_price is None or other.input_price is None:
        return 1.0
    return model.input_price / other.input_price


def long_input(model: Model, request_tokens: int) -> float:
    """Return the input price factor of a request of this size."""
    return model.long_input if _is_long(model, request_tokens) else 1.0


def long_output(model: Model, request_tokens: int) -> float:
    """Return the output price factor of a request of this size."""
    return model.long_output if _is_long(model, request_tokens) else 1.0


def _is_long(model: Model, request_tokens: int) -> bool:
    return model.long_from_tokens is not None and request_tokens > model.long_from_tokens
