"""What the tools work with: a session, its memory, and somebody who is asked before writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from clew.budget import Policy, Window
from clew.memory.memory import Memory
from clew.memory.notes.notebook import Notebook
from clew.message import Item, Trust


class Expanded(Protocol):
    """What stands behind a reference."""

    @property
    def what(self) -> str:
        """Return ``message``, ``digest``, ``claim`` or ``rule``."""

    @property
    def text(self) -> str:
        """Return what it says itself, if it is no message."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the messages it comes from."""


class Measured(Protocol):
    """How large a session's window is."""

    @property
    def window(self) -> Window:
        """Return the window."""

    @property
    def policy(self) -> Policy:
        """Return when it is compacted."""


class Named(Protocol):
    """Something with an id."""

    @property
    def id(self) -> str:
        """Return the id."""


class OpenSession(Protocol):
    """What the tools ask of a session; ``clew.Session`` has it."""

    @property
    def name(self) -> str:
        """Return what the session is called."""

    @property
    def tokens(self) -> int:
        """Return the tokens of what the model would see now."""

    @property
    def gauge(self) -> Measured:
        """Return how large the window is."""

    def view(self) -> list[Item]:
        """Return what the model would see now."""

    def originals(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield messages as they were said; ids that name none are passed over."""

    def expand(self, ref: str) -> Expanded:
        """Return what stands behind a reference."""

    def number(self, seq: int) -> int:
        """Return how many messages there were at a place of the log."""

    def pin(self, quote: str) -> Named:
        """Set a rule that stands word for word."""


class Consent(StrEnum):
    """What a person says to a wish of the agent."""

    GIVEN = "given"
    DENIED = "denied"
    LATER = "later"
    """Not now: what can wait waits."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Something an agent wants to write."""

    tool: str
    summary: str
    """What would happen, in one sentence for people; the words in it are the agent's."""
    trust: Trust


LEAST_CHARACTERS = 2_000
MOST_CHARACTERS = 16_000
"""Of one answer: what is asked for must not fill the window that it was taken out of."""
PER_TOKEN = 4
"""Characters, roughly."""

Approve = Callable[[Wish], Consent]


def ask_later(_: Wish) -> Consent:
    """Leave every wish to a person who comes later."""
    return Consent.LATER


@dataclass(frozen=True, slots=True)
class Desk:
    """What the tools work with."""

    session: OpenSession
    memory: Memory
    approve: Approve

    @property
    def answer_characters(self) -> int:
        """Return how long an answer may be: at most a tenth of the window, so that it cannot fill it."""
        tokens = self.session.gauge.window.usable_tokens // 10
        return max(LEAST_CHARACTERS, min(MOST_CHARACTERS, tokens * PER_TOKEN))

    @property
    def notebook(self) -> Notebook:
        """Return the notes that concern the session."""
        return self.memory.notebook
