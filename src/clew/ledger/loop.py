"""Open loops: what is not finished, and how those that are came to an end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from clew.message import Cite

LATER = "put off"
"""The status of what was acknowledged or promised, and left for later."""


class LoopKind(StrEnum):
    """What is unfinished."""

    TODO = "todo"
    """A task of a task tool, or of a checklist in what the user or the model says."""
    REQUEST = "request"
    """What the user asked for last, until the model reports back."""
    QUESTION = "question"
    """A question of the user, until the model reports back."""
    ASKED = "asked"
    """A question of the model, until the user speaks."""
    PROMISE = "promise"
    """A next step that the model announced."""
    TEST = "test"
    """A test that failed and has not passed since."""


class Closed(StrEnum):
    """How a loop came to an end."""

    DONE = "done"
    CANCELLED = "cancelled"
    LEFT_OUT = "left out"
    """The next list of tasks does not name it any more."""
    ANSWERED = "answered"
    REFUSED = "refused"
    PASSED = "passed"
    REPLACED = "replaced"
    """A later announcement took its place."""
    REPORTED = "reported"
    """The model reported back to the user."""
    BY_HAND = "by hand"
    """A person closed it; ``why`` says what for."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Something unfinished, or something that was."""

    id: str
    kind: LoopKind
    text: str
    """Verbatim."""
    source: Cite
    """Where it was opened."""
    status: str = ""
    """Of a task: as its tool says, ``pending`` or ``in_progress``; of what was put off: ``LATER``."""
    closed: Closed | None = None
    closed_by: Cite | None = None
    """The words or the result that closed it; None where a person did it by hand."""
    why: str = ""
    """Of one that was closed by hand: what for."""

    @property
    def is_open(self) -> bool:
        """Tell whether it waits to be finished."""
        return self.closed is None

    def ended(self, how: Closed, by: Cite) -> Loop:
        """Return it as it came to an end."""
        return Loop(self.id, self.kind, self.text, self.source, self.status, how, by)

    def closed_by_hand(self, why: str) -> Loop:
        """Return it as a person closed it."""
        return replace(self, closed=Closed.BY_HAND, closed_by=None, why=why)

    def reopened(self) -> Loop:
        """Return it open again."""
        return replace(self, closed=None, closed_by=None, why="")


class LoopRef(NamedTuple):
    """A loop by its words and where it was opened; its id may be another one in another version."""

    id: str
    kind: str
    text: str
    message: str

    @classmethod
    def of(cls, loop: Loop) -> LoopRef:
        """Return what a loop is known by in the log."""
        return cls(loop.id, loop.kind.value, loop.text, loop.source.message)

    def among(self, loops: Iterable[Loop]) -> Loop | None:
        """Return the loop that is meant: in these words, of this message or else the only one."""
        alike = [loop for loop in loops if (loop.kind.value, loop.text) == (self.kind, self.text)]
        there = [loop for loop in alike if loop.source.message == self.message] or alike
        named = [loop for loop in there if loop.id == self.id] or there
        return named[0] if len(named) == 1 else None


def take_closed_by_hand(ended: list[Loop], id_: str) -> Loop | None:
    """Take a loop that a person closed out of those that ended, open again; None where it is not there."""
    for place in range(len(ended) - 1, -1, -1):
        if ended[place].id == id_ and ended[place].closed is Closed.BY_HAND:
            return ended.pop(place).reopened()
    return None
