"""What the tools work with: a session, its memory, and a callback that approves writes."""

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
    """What a reference points to."""

    @property
    def what(self) -> str:
        """Return ``message``, ``digest``, ``claim`` or ``rule``."""

    @property
    def text(self) -> str:
        """Return its own text, if it is not a message."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the messages it comes from."""


class Measured(Protocol):
    """The size of a session's window."""

    @property
    def window(self) -> Window:
        """Return the window."""

    @property
    def policy(self) -> Policy:
        """Return the compaction policy."""


class Named(Protocol):
    """Something with an id."""

    @property
    def id(self) -> str:
        """Return the id."""


class OpenSession(Protocol):
    """What the tools need of a session; ``clew.Session`` implements it."""

    @property
    def name(self) -> str:
        """Return the session's name."""

    @property
    def tokens(self) -> int:
        """Return the tokens of the current view."""

    @property
    def gauge(self) -> Measured:
        """Return the size of the window."""

    def view(self) -> list[Item]:
        """Return the current view."""

    def originals(self, ids: Iterable[str]) -> Iterator[Item]:
        """Yield original messages; unknown ids are skipped."""

    def expand(self, ref: str) -> Expanded:
        """Return what a reference points to."""

    def number(self, seq: int) -> int:
        """Return how many messages there were at a position of the log."""

    def pin(self, quote: str) -> Named:
        """Pin a rule, kept verbatim."""


class Consent(StrEnum):
    """A person's answer to a write request of the agent."""

    GIVEN = "given"
    DENIED = "denied"
    LATER = "later"
    """Not now: the request stays pending if it can."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A write that an agent asks for."""

    tool: str
    summary: str
    """What would happen, in one sentence for people; the quoted words are the agent's."""
    trust: Trust


LEAST_CHARACTERS = 2_000
MOST_CHARACTERS = 16_000
"""Characters of one answer, so that it does not fill the window (chosen by hand)."""
PER_TOKEN = 4
"""Characters per token, roughly."""

Approve = Callable[[Wish], Consent]


def ask_later(_: Wish) -> Consent:
    """Leave every request pending."""
    return Consent.LATER


@dataclass(frozen=True, slots=True)
class Desk:
    """What the tools work with."""

    session: OpenSession
    memory: Memory
    approve: Approve

    @property
    def answer_characters(self) -> int:
        """Return the longest answer: a tenth of the window, so that it cannot fill it."""
        tokens = self.session.gauge.window.usable_tokens // 10
        return max(LEAST_CHARACTERS, min(MOST_CHARACTERS, tokens * PER_TOKEN))

    @property
    def notebook(self) -> Notebook:
        """Return the notes that apply to the session."""
        return self.memory.notebook
