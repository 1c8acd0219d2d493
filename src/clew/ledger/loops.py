"""All loops of a session, open and closed, of whatever kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from clew.ledger.exchange import Reading
from clew.ledger.failing import FailingTests
from clew.ledger.loop import Loop, LoopKind
from clew.ledger.talk import Talk
from clew.ledger.todos import Todo, Todos

MOST_ENDED = 1_000
"""Closed loops of each sort that are kept; older ones are let go. Open ones always stay."""


@dataclass(slots=True)
class Loops:
    """Keeps requests, questions and announcements, tasks, and failing tests: each sort has its own keeper."""

    talk: Talk = field(default_factory=Talk)
    tasks: Todos = field(default_factory=Todos)
    tests: FailingTests = field(default_factory=FailingTests)

    @property
    def open(self) -> tuple[Loop, ...]:
        """Return what is unfinished now: the conversation's first, then tasks, then failing tests."""
        tasks = (loop for loop in self.tasks.loops.values() if loop.is_open)
        return (*self.talk.loops, *tasks, *self.tests.loops)

    @property
    def closed(self) -> tuple[Loop, ...]:
        """Return what came to an end, oldest of each sort first."""
        tasks = (loop for loop in self.tasks.loops.values() if not loop.is_open)
        return (*self.talk.closed, *self.tasks.ended, *tasks, *self.tests.ended)

    @property
    def todos(self) -> tuple[Todo, ...]:
        """Return the tasks as their lists have them now, finished ones too."""
        return self.tasks.current

    def counts(self) -> dict[LoopKind, int]:
        """Return how many loops of each kind are open: none may get lost without a reason."""
        return dict(Counter(loop.kind for loop in self.open))

    def add(self, reading: Reading) -> None:
        """Take in a message."""
        self.talk.add(reading)
        self.tasks.add(reading)
        if reading.exchanges:
            self.tests.add(reading)
        for ended in (self.talk.ended, self.tasks.ended, self.tests.ended):
            if len(ended) > MOST_ENDED:
                del ended[: MOST_ENDED // 4]
