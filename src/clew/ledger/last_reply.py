"""The model's last text since the user spoke, and what it means for open work.

``Talk`` fills one ``LastReply`` while the model speaks and works, and evaluates it when the user speaks
again: "I fixed the login." with no call after it is a report, and closes the request before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.ledger.loop import Loop, LoopKind
from clew.message import Cite


@dataclass(slots=True)
class LastReply:
    """What the model said since the user last spoke; a new one for each of the user's messages.

    It is one of three: a report (``report``), which closes what was open when the user speaks again; a
    statement after which the model went on working (``stated``), which answers questions; or a promise, a
    refusal or "ok" (``settles_nothing``), which puts off what was open. A call after a text shows that the
    model went on working, so that the text is no report.
    """

    report: Cite | None = None
    """The model's last text, until a call follows it."""
    left: list[Loop] = field(default_factory=list)
    """The parts of requests that the report leaves out."""
    unfinished: list[str] = field(default_factory=list)
    """The ids of the requests that, by its own words, it does not finish."""
    asked: list[Loop] = field(default_factory=list)
    """The questions at the end of that text."""
    asked_about: list[str] = field(default_factory=list)
    """The stems of the words around these questions."""
    settles_nothing: bool = False
    """The last text only acknowledged, promised or refused, and no call followed it."""
    stated: Cite | None = None
    """The last statement, even if calls followed it."""
    changed: bool = False
    """A call changed a file."""
    stated_stems: list[str] = field(default_factory=list)
    """Stems of its words, if a question of the user is open."""

    def continue_working(self) -> None:
        """Note that a call followed: the last text is no report, and its questions do not wait."""
        self.report, self.settles_nothing = None, False
        self.left, self.asked, self.unfinished = [], [], []

    def closes(self, loop: Loop) -> bool:
        """Return True if the report closes an item."""
        if self.report is None or loop.id in self.unfinished:
            return False
        return is_before(loop, self.report)

    def without(self, id_: str) -> None:
        """Remove an item that was closed by hand."""
        self.left = [part for part in self.left if part.id != id_]
        self.asked = [question for question in self.asked if question.id != id_]


def is_before(loop: Loop, report: Cite) -> bool:
    """Return True if a report may close an item: all that was opened before it, not what it announces."""
    return loop.kind is not LoopKind.ASKED and loop.source.message != report.message
