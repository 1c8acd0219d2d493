"""All loops of a session, open and closed, of whatever kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from clew.errors import NotFound
from clew.ledger.checked import LastCheck
from clew.ledger.exchange import Reading
from clew.ledger.failing import FailingTests, LastRun
from clew.ledger.floods import TO, in_few_words
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
    def told(self) -> tuple[Loop, ...]:
        """Return what is unfinished now, a flood in few words: some of it, and one loop for the rest."""
        return tuple(one.loop for one in in_few_words(self.open))

    @property
    def closed(self) -> tuple[Loop, ...]:
        """Return what came to an end, oldest of each sort first."""
        tasks = (loop for loop in self.tasks.loops.values() if not loop.is_open)
        aside = (failing.loop for failing in self.tests.put_aside.values())
        return (*self.talk.closed, *self.tasks.ended, *tasks, *self.tests.ended, *aside)

    @property
    def todos(self) -> tuple[Todo, ...]:
        """Return the tasks as their lists have them now, finished ones too."""
        return self.tasks.current

    @property
    def last_run(self) -> LastRun | None:
        """Return how the tests went when they were run last."""
        return self.tests.last

    @property
    def last_check(self) -> LastCheck | None:
        """Return how a linter, a type checker or the like judged last."""
        return self.tests.checked

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

    # What a person does by hand --------------------------------------------------------------------------

    def close(self, id_: str, why: str) -> tuple[Loop, ...]:
        """Close a loop by hand, or with the id of a flood all that it stands for; return them as they ended.

        What is closed so stays closed, though its list names it again or its test fails again.
        """
        ids = [id_]
        if TO in id_:
            told = in_few_words(self.open)
            ids = [loop.id for one in told if one.loop.id == id_ for loop in one.stands_for]
        closed = tuple(
            loop
            for one in ids
            if (loop := self.talk.close(one, why) or self.tasks.close(one, why) or self.tests.close(one, why))
        )
        if not closed:
            raise NotFound(f"nothing that is open is called {id_}", "the ids stand with what is open")
        return closed

    def reopen(self, id_: str) -> Loop:
        """Open a loop again that was closed by hand."""
        loop = self.talk.reopen(id_) or self.tasks.reopen(id_) or self.tests.reopen(id_)
        if loop is None:
            raise NotFound(
                f"nothing that was closed by hand is called {id_}", "a task must still be on its list"
            )
        return loop
