"""What a summariser is asked for, by which model, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from clew.compaction.propose.written import Outline
from clew.message import Message, Native
from clew.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the calls for one digest."""

    calls: int = 64
    """In all. A span that needs more is read from its newest part backwards."""
    retries: int = 1
    """Of a question whose answer failed or was unusable."""
    losses: int = 2
    """Portions that may fail in a row; then the model is taken to be broken."""


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The session's own request, with the fields of an ``Ask``."""

    messages: tuple[Message, ...]
    system: str | tuple[Message, ...] = ()
    rest: Native | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """One digest to write."""

    outline: Outline
    model_name: str
    window_tokens: int
    counter: TokenCounter
    focus: str = ""
    request: SessionRequest | None = None
    misses: tuple[str, ...] = ()
    limits: Limits = LIMITS
