"""One compaction to be done, and what it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .chat import Chat, characters
from .scripted import shown_in, summary

SUMMARY_SHARE = 0.5
"""Of the tokens that may be kept, those that a summary may have; the rest are the newest messages'. A peer
that keeps no messages beside its summary is given all."""
CHARACTERS_PER_TOKEN = 4

Native = TypeVar("Native")


@dataclass(frozen=True)
class Spent:
    """Time by the wall clock, and the processor's: on a busy machine only the latter is the peer's own."""

    seconds: float
    cpu_seconds: float

    @classmethod
    def now(cls) -> Spent:
        """Return what both clocks say."""
        return cls(time.perf_counter(), time.process_time())

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.seconds - other.seconds, self.cpu_seconds - other.cpu_seconds)


@dataclass(frozen=True)
class Budget:
    """What may be kept, in tokens as the peer itself counts them."""

    before: int
    target: int
    tail: int
    summary: int


@dataclass
class Job:
    """Messages without their system prompt, and the size they should have afterwards."""

    messages: Chat
    target_tokens: int
    keep_last: int | None = None
    """How many messages to keep where a peer counts messages; None for as many as fit."""
    tokens: int | None = None
    """The tokens of the messages as the caller counts them; sets the scale of the peer's own counting."""
    pins: Sequence[int] = ()
    """Messages that a person has pinned, for peers that know pins."""
    summary_share: float = SUMMARY_SHARE
    spent: Spent = field(default_factory=lambda: Spent(0.0, 0.0))
    """What the peer's pass took."""
    calls: int = 0
    shown: set[int] = field(default_factory=set)
    _writing: Spent = field(default_factory=lambda: Spent(0.0, 0.0))

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Time the peer's pass; the time that the scripted model takes for its text is not the peer's."""
        written, started = self._writing, Spent.now()
        try:
            yield
        finally:
            self.spent += Spent.now() - started - (self._writing - written)

    def summarise(self, prompt: str) -> str:
        """Answer a request for a summary, as the model that the peer calls."""
        started = Spent.now()
        shown = shown_in(prompt, self.messages)
        self.calls += 1
        self.shown.update(shown)
        text = summary(self.messages, shown, self.summary_characters)
        self._writing += Spent.now() - started
        return text

    @property
    def summary_characters(self) -> int:
        """Return how long a summary may be."""
        length = characters(self.messages)
        tokens = self.tokens or length / CHARACTERS_PER_TOKEN
        return int(self.target_tokens * self.summary_share * length / max(1, tokens))

    def budget(self, native_tokens: int) -> Budget:
        """Return the budget in the peer's tokens, given its own count of all messages."""
        target = int(self.target_tokens * native_tokens / (self.tokens or native_tokens or 1))
        summary_tokens = int(target * self.summary_share)
        return Budget(native_tokens, target, target - summary_tokens, summary_tokens)

    def newest(
        self, native: Sequence[Native], count: Callable[[Native], int], room: int | None = None
    ) -> int:
        """Return how many of the newest messages to keep, for peers that are told a number.

        Without ``keep_last`` it is as many as fit the room, by default what a summary leaves.
        """
        if self.keep_last is not None:
            return max(1, min(self.keep_last, len(native)))
        sizes = [count(one) for one in native]
        left, kept = self.budget(sum(sizes)).tail if room is None else room, 0
        for size in reversed(sizes):
            left -= size
            if left < 0:
                break
            kept += 1
        return max(1, kept)

    @classmethod
    def read(cls, line: dict[str, Any], messages: Chat, system: int) -> Job:
        """Make a job of a line of input; pins are counted in the whole list."""
        return cls(
            messages,
            line["target_tokens"],
            line.get("keep_last"),
            line.get("tokens"),
            [at - system for at in line.get("pins") or () if at >= system],
        )
