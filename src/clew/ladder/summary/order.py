"""What is asked of a summariser: to write what, with whom, and how often it may be asked."""

from __future__ import annotations

from dataclasses import dataclass

from clew.ladder.written import Outline
from clew.message import Message, Native
from clew.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Limits:
    """How often a model is asked for one digest."""

    calls: int = 64
    """In all. A span that needs more is read from its newest part back."""
    retries: int = 1
    """Of a question that a busy or broken model left without an answer, or with one that is of no use."""
    losses: int = 2
    """Portions that may fail in a row; after that the model is taken to be out of order."""


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """What the session itself sends to its model, as an ``Ask`` takes it."""

    messages: tuple[Message, ...]
    system: str | tuple[Message, ...] = ()
    rest: Native | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """One digest to be written."""

    outline: Outline
    model_name: str
    window_tokens: int
    counter: TokenCounter
    focus: str = ""
    request: SessionRequest | None = None
    misses: tuple[str, ...] = ()
    limits: Limits = LIMITS
