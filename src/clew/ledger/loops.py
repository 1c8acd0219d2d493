"""All loops of a session, open and closed, of whatever kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from clew.errors import NotFound
from clew.ledger.checked import LastCheck
from clew.ledger.exchange import Reading
from clew.ledger.failing import FailingTests, LastRun
from clew.ledger.loop import Loop, LoopKind
from clew.ledger.talk import Talk
from clew.ledger.todos import Todo, Todos

MOST_ENDED = 1_000
"""Closed loops of each sort that are kept; older ones are let go. Open ones always stay."""
MOST_TOLD = 20
"""Open loops of one kind that one message opened, above which the rest of them are told as one."""
FIRST_TOLD = 10
"""How many of such a flood are told one by one."""
_TO = ".."
_PLURAL = {
    LoopKind.TODO: "tasks",
    LoopKind.REQUEST: "requests",
    LoopKind.QUESTION: "questions",
    LoopKind.ASKED: "questions of the model",
    LoopKind.PROMISE: "announced steps",
    LoopKind.TEST: "failing tests",
}


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
        """Return what is unfinished now, a flood in few words: its first ones, and one loop for the rest.

        A flood is more than ``MOST_TOLD`` of one kind that one message opened. The loop for the rest says
        exactly how many they are, their first and last id, and the message that names them all; none is lost.
        """
        return tuple(one for flood in _floods(self.open) for one in _in_few_words(flood))

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
        if _TO in id_:
            ids = [
                loop.id
                for flood in _floods(self.open)
                if flood_id(flood) == id_
                for loop in flood[FIRST_TOLD:]
            ]
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


def _floods(loops: Iterable[Loop]) -> Iterator[list[Loop]]:
    """Yield loops of one kind that one message opened together, as they follow each other."""
    for _, flood in groupby(loops, key=lambda loop: (loop.kind, loop.source.message)):
        yield list(flood)


def flood_id(flood: list[Loop]) -> str:
    """Return what the rest of a flood is called: its first and its last id."""
    return f"{flood[FIRST_TOLD].id}{_TO}{flood[-1].id}" if len(flood) > MOST_TOLD else ""


def _in_few_words(flood: list[Loop]) -> list[Loop]:
    if len(flood) <= MOST_TOLD:
        return flood
    first, rest = flood[:FIRST_TOLD], flood[FIRST_TOLD:]
    message = rest[0].source.message
    text = f"and {len(rest)} more {_PLURAL[rest[0].kind]} ({flood_id(flood)}), see {message}"
    return [*first, Loop(flood_id(flood), rest[0].kind, text, rest[0].source)]
