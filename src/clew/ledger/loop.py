"""One open or closed work item ("loop") of any kind, and the list of open ones with batches collapsed.

A loop is a request, a question, a to-do or a failing test:
``Loop("q3", LoopKind.REQUEST, "Fix the login.", source)``. Its trackers (``talk``, ``todos``, ``checks``)
open and close it. ``collapse_batches`` shortens a long list for display: "and 37 more tasks (t4..t40), see
m12"; a person can close such a batch as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from clew.message import Cite

LATER = "put off"
"""Status of work that was acknowledged or promised and then postponed."""
DECLINED = "declined"
"""Status of a request that the model refused; it stays open, but is not the next step."""


class LoopKind(StrEnum):
    """What kind of work is unfinished."""

    TODO = "todo"
    """A task of a task tool, or of a checklist in what the user or the model writes."""
    REQUEST = "request"
    """The user's last request, until the model reports back."""
    QUESTION = "question"
    """A question of the user, until the model reports back."""
    ASKED = "asked"
    """A question of the model, until the user speaks."""
    PROMISE = "promise"
    """A next step that the model announced."""
    LEFT = "left"
    """What the model's report says is not done, until a later report speaks of it."""
    TEST = "test"
    """A test that failed and has not passed since."""


OF_THE_USER = frozenset((LoopKind.REQUEST, LoopKind.QUESTION))
"""What the user asked for, in contrast to what the model asked or announced."""


class Closed(StrEnum):
    """How a loop ended."""

    DONE = "done"
    CANCELLED = "cancelled"
    LEFT_OUT = "left out"
    """The next version of the task list does not contain it."""
    ANSWERED = "answered"
    REFUSED = "refused"
    PASSED = "passed"
    REPLACED = "replaced"
    """A later announcement replaced it."""
    REPORTED = "reported"
    """The model reported back to the user."""
    BY_HAND = "by hand"
    """A person closed it; ``why`` has the reason."""


@dataclass(frozen=True, slots=True)
class Loop:
    """An open or closed work item."""

    id: str
    kind: LoopKind
    text: str
    """Verbatim."""
    source: Cite
    """The words that opened it."""
    status: str = ""
    """Of a task: its tool's status, ``pending`` or ``in_progress``; of the user's requests:
    ``LATER`` or ``DECLINED``; of a test: whether it failed before the changes, too."""
    closed: Closed | None = None
    closed_by: Cite | None = None
    """The words or the result that closed it; None if a person did it by hand."""
    why: str = ""
    """If it was closed by hand: the reason."""
    accepts: str = ""
    """Of a request that only agrees ("yes"): the question of the model that it answers."""

    @property
    def is_open(self) -> bool:
        """Whether it is unfinished."""
        return self.closed is None

    def ended(self, how: Closed, by: Cite) -> Loop:
        """Return it closed."""
        kept = self.id, self.kind, self.text, self.source, self.status
        return Loop(*kept, how, by, accepts=self.accepts)  # faster than ``replace``

    def closed_by_hand(self, why: str) -> Loop:
        """Return it closed by a person."""
        return replace(self, closed=Closed.BY_HAND, closed_by=None, why=why)

    def reopened(self) -> Loop:
        """Return it open again."""
        return replace(self, closed=None, closed_by=None, why="")


class LoopRef(NamedTuple):
    """Identifies a loop by its words and source message; its id may differ in another version."""

    id: str
    kind: str
    text: str
    message: str

    @classmethod
    def of(cls, loop: Loop) -> LoopRef:
        """Return the reference that the log records for a loop."""
        return cls(loop.id, loop.kind.value, loop.text, loop.source.message)

    def among(self, loops: Iterable[Loop]) -> Loop | None:
        """Return the loop with these words: the one from this message, or else the only one."""
        alike = [loop for loop in loops if (loop.kind.value, loop.text) == (self.kind, self.text)]
        same_message = [loop for loop in alike if loop.source.message == self.message] or alike
        same_id = [loop for loop in same_message if loop.id == self.id] or same_message
        return same_id[0] if len(same_id) == 1 else None


def take_closed_by_hand(ended_loops: list[Loop], id_: str) -> Loop | None:
    """Remove a loop that a person closed from a list and return it reopened; None if it is not there."""
    for place in range(len(ended_loops) - 1, -1, -1):
        if ended_loops[place].id == id_ and ended_loops[place].closed is Closed.BY_HAND:
            return ended_loops.pop(place).reopened()
    return None


MOST_AT_ONCE = 20
"""Open loops of one kind from one message above which the rest is collapsed to one line (of tasks:
``MOST_OF_A_KIND``). Chosen by hand."""
MOST_OF_A_KIND = 60
"""Open loops of one kind from all messages above which the middle is collapsed. Chosen by hand."""
FIRST_LISTED = 10
"""Loops at the start of a batch that are listed one by one. Chosen by hand."""
LAST_LISTED = 40
"""Loops at the end of one that accumulated over several messages that are listed one by one. Chosen by
hand."""
TO = ".."
"""Separator between the first and the last id of a collapsed batch."""
_PLURAL = {
    LoopKind.TODO: "tasks",
    LoopKind.REQUEST: "requests",
    LoopKind.QUESTION: "questions",
    LoopKind.ASKED: "questions of the model",
    LoopKind.PROMISE: "announced steps",
    LoopKind.LEFT: "reports of unfinished work",
    LoopKind.TEST: "failing tests",
}
"""What several loops of a kind are called."""


class ListedLoop(NamedTuple):
    """A listed loop and the loops that it represents: itself, or the rest of a batch."""

    loop: Loop
    represents: tuple[Loop, ...]


def collapse_batches(loops: Iterable[Loop]) -> list[ListedLoop]:
    """Return the lines to list for open loops, in their order.

    The line for the rest of a batch has their exact number, first and last id, and source messages.
    """
    listed: list[ListedLoop] = []
    for _, batch in groupby(loops, key=lambda loop: (loop.kind, loop.source.message)):
        listed += _collapse_message(tuple(batch))
    for kind, count in Counter(listed_loop.loop.kind for listed_loop in listed).items():
        if count > MOST_OF_A_KIND:
            listed = _collapse_middle(listed, kind)
    return listed


def _collapse_message(batch: Sequence[Loop]) -> list[ListedLoop]:
    """Collapse loops of one kind that one message opened."""
    most = MOST_OF_A_KIND if batch[0].kind is LoopKind.TODO else MOST_AT_ONCE  # the lines of a plan
    if len(batch) <= most:
        return [ListedLoop(loop, (loop,)) for loop in batch]
    rest = batch[FIRST_LISTED:]
    return [
        *(ListedLoop(loop, (loop,)) for loop in batch[:FIRST_LISTED]),
        _as_one(rest, rest[0].source.message),
    ]


def _collapse_middle(listed: Sequence[ListedLoop], kind: LoopKind) -> list[ListedLoop]:
    """Collapse the loops of one kind in the middle of the list."""
    places = [place for place, listed_loop in enumerate(listed) if listed_loop.loop.kind is kind]
    middle = places[FIRST_LISTED:-LAST_LISTED]
    rest = [loop for place in middle for loop in listed[place].represents]
    as_one = _as_one(rest, f"{rest[0].source.message} to {rest[-1].source.message}")
    left_out = frozenset(middle[1:])
    return [
        as_one if i == middle[0] else listed_loop for i, listed_loop in enumerate(listed) if i not in left_out
    ]


def _as_one(rest: Sequence[Loop], where: str) -> ListedLoop:
    """Return the line "and 37 more tasks (t4..t40), see m12"."""
    first, name = rest[0], f"{rest[0].id}{TO}{rest[-1].id}"
    text = f"and {len(rest)} more {_PLURAL[first.kind]} ({name}), see {where}"
    return ListedLoop(Loop(name, first.kind, text, first.source), tuple(rest))
