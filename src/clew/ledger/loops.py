"""All work items of a session ("loops"), open and closed: requests, questions, to-dos, failing tests.

``Loops`` gives each message to three trackers (``Talk``, ``Todos``, ``FailingTests``) and joins what they
found: ``ledger.loops.open`` lists what is unfinished. Here a person closes an item by its id and reopens
it: ``loops.close("q3", "no longer needed")``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from clew.errors import NotFound
from clew.ledger.checks import FailingTests, LastCheck, LastRun
from clew.ledger.exchange import Reading
from clew.ledger.loop import TO, Closed, Loop, LoopKind, collapse_batches
from clew.ledger.talk import Talk
from clew.ledger.todos import Todo, Todos

MOST_ENDED = 1_000
"""Closed loops kept of each sort (chosen by hand); older ones are dropped. Open loops are never dropped."""


@dataclass(slots=True)
class Loops:
    """Tracks requests, questions and announcements, tasks, and failing tests, each with its own tracker."""

    talk: Talk = field(default_factory=Talk)
    tasks: Todos = field(default_factory=Todos)
    tests: FailingTests = field(default_factory=FailingTests)

    @property
    def open(self) -> tuple[Loop, ...]:
        """Return the unfinished items: the conversation's first, then tasks, then failing tests."""
        tasks = (loop for loop in self.tasks.loops.values() if loop.is_open)
        return (*self.talk.loops, *tasks, *self.tests.loops)

    @property
    def collapsed(self) -> tuple[Loop, ...]:
        """Return the unfinished items, with large batches collapsed to some items and one summary line."""
        return tuple(listed.loop for listed in collapse_batches(self.open))

    @property
    def closed(self) -> tuple[Loop, ...]:
        """Return the closed items, oldest of each sort first."""
        tasks = (loop for loop in self.tasks.loops.values() if not loop.is_open)
        put_aside = (failing.loop for failing in self.tests.put_aside.values())
        return (*self.talk.closed, *self.tasks.ended, *tasks, *self.tests.ended, *put_aside)

    @property
    def todos(self) -> tuple[Todo, ...]:
        """Return the tasks on the current lists, finished ones included."""
        return self.tasks.current

    @property
    def last_run(self) -> LastRun | None:
        """Return the result of the last test run."""
        return self.tests.last

    @property
    def last_check(self) -> LastCheck | None:
        """Return the result of the last lint, type check or format check."""
        return self.tests.checked if self.tests.checked and self.tests.checked.verdict else None

    def counts(self) -> dict[LoopKind, int]:
        """Return how many loops of each kind are open."""
        return dict(Counter(loop.kind for loop in self.open))

    def add(self, reading: Reading) -> None:
        """Read a message."""
        self.talk.add(reading)
        self.tasks.add(reading)
        if reading.exchanges:
            run, check = self.tests.last, self.tests.checked
            self.tests.add(reading)
            if self.tests.last is not run and self.tests.last:
                self.talk.tested(self.tests.last.source, passed=not self.tests.last.failed)
            elif self.tests.checked is not check and self.tests.checked:
                self.talk.tested(self.tests.checked.source, passed=False)
        for ended_loops in (self.talk.ended, self.tasks.ended, self.tests.ended):
            if len(ended_loops) > MOST_ENDED:
                del ended_loops[: MOST_ENDED // 4]

    # What a person does by hand --------------------------------------------------------------------------

    def open_under(self, id_: str) -> tuple[Loop, ...]:
        """Return the open items with this id: one loop, or all loops of a collapsed batch."""
        if TO in id_:
            loops = [
                loop
                for listed in collapse_batches(self.open)
                if listed.loop.id == id_
                for loop in listed.represents
            ]
        else:
            loops = [loop for loop in self.open if loop.id == id_]
        if not loops:
            raise NotFound(f"no open work has the id {id_}", "the ids are listed with the open work")
        return tuple(loops)

    def closed_under(self, id_: str) -> Loop:
        """Return the item with this id that was closed by hand and can be reopened."""
        found = next((loop for loop in self.closed_by_hand if loop.id == id_), None)
        if found is None:
            raise NotFound(
                f"no work that was closed by hand has the id {id_}", "a task must still be on its list"
            )
        return found

    @property
    def closed_by_hand(self) -> tuple[Loop, ...]:
        """Return the items that were closed by hand and can be reopened, latest first."""
        tasks = self.tasks.loops.values()
        put_aside = (failing.loop for failing in self.tests.put_aside.values())
        closed = (*reversed(self.talk.ended), *tasks, *put_aside)
        return tuple(loop for loop in closed if loop.closed is Closed.BY_HAND)

    def close(self, id_: str, why: str) -> tuple[Loop, ...]:
        """Close a loop by hand, or every loop of a collapsed batch; return the closed loops.

        They stay closed even if a list names the task again or the test fails again.
        """
        closed = (self._close(loop.id, why) for loop in self.open_under(id_))
        return tuple(loop for loop in closed if loop)

    def _close(self, id_: str, why: str) -> Loop | None:
        return self.talk.close(id_, why) or self.tasks.close(id_, why) or self.tests.close(id_, why)

    def reopen(self, id_: str) -> Loop:
        """Reopen a loop that was closed by hand."""
        loop = self.closed_under(id_)
        return self.talk.reopen(id_) or self.tasks.reopen(id_) or self.tests.reopen(id_) or loop
