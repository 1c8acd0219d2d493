"""Open loops: what is not finished, and how those that are came to an end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clew.message import Cite


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
    """Of a task: as its tool says, ``pending`` or ``in_progress``."""
    closed: Closed | None = None
    closed_by: Cite | None = None

    @property
    def is_open(self) -> bool:
        """Tell whether it waits to be finished."""
        return self.closed is None

    def ended(self, how: Closed, by: Cite) -> Loop:
        """Return it as it came to an end."""
        return Loop(self.id, self.kind, self.text, self.source, self.status, how, by)
