"""All loops of a session, open and closed, of whatever kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from clew.errors import NotFound
from clew.ledger.checked import LastCheck
from clew.ledger.exchange import Reading
from clew.ledger.failing import FailingTests, LastRun
from clew.ledger.floods import TO, in_few_words
from clew.ledger.loop import Closed, Loop, LoopKind
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

    def open_under(self, id_: str) -> tuple[Loop, ...]:
        """Return what is open under an id: one loop, or all that the id of a flood is for."""
        if TO in id_:
            found = [loop for one in in_few_words(self.open) if one.loop.id == id_ for loop in one.stands_for]
        else:
            found = [loop for loop in self.open if loop.id == id_]
        if not found:
            raise NotFound(f"no open work is called {id_}", "the ids are listed with the open work")
        return tuple(found)

    def closed_under(self, id_: str) -> Loop:
        """Return what was closed by hand under an id, and can be reopened."""
        found = next((loop for loop in self.closed_by_hand if loop.id == id_), None)
        if found is None:
            raise NotFound(
                f"no work that was closed by hand is called {id_}", "a task must still be on its list"
            )
        return found

    @property
    def closed_by_hand(self) -> tuple[Loop, ...]:
        """Return what was closed by hand and can be reopened, the latest first."""
        tasks = self.tasks.loops.values()
        aside = (failing.loop for failing in self.tests.put_aside.values())
        closed = (*reversed(self.talk.ended), *tasks, *aside)
        return tuple(loop for loop in closed if loop.closed is Closed.BY_HAND)

    def close(self, id_: str, why: str) -> tuple[Loop, ...]:
        """Close a loop by hand, or with the id of a flood all that it is for; return them as they ended.

        What is closed so stays closed, though its list names it again or its test fails again.
        """
        closed = (self._close(loop.id, why) for loop in self.open_under(id_))
        return tuple(loop for loop in closed if loop)

    def _close(self, id_: str, why: str) -> Loop | None:
        return self.talk.close(id_, why) or self.tasks.close(id_, why) or self.tests.close(id_, why)

    def reopen(self, id_: str) -> Loop:
        """Open a loop again that was closed by hand."""
        found = self.closed_under(id_)
        return self.talk.reopen(id_) or self.tasks.reopen(id_) or self.tests.reopen(id_) or found
