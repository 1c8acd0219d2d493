"""Open requests of several parts, and what was said and done since they were made.

``Talk`` adds each request of the user and each call of the model. When the model reports, ``left_by`` returns
the parts that the report leaves out: after "Implement login and logout." and "Login works.", the part
"logout". How parts are found is in ``request_parts`` and ``sections``, how reports are read in
``part_reports``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from clew.ledger.exchange import Asked
from clew.ledger.loop import Loop, LoopKind
from clew.ledger.part_reports import Report, WorkSince, left_out, work_of
from clew.ledger.request_parts import MessageParts
from clew.ledger.sections import RequestSection, left_sections, numbered_sections
from clew.message import Cite

_MOST_COMPOUND = 8
"""Messages with several parts, the latest, that a report is compared with; chosen by hand."""


class PartLeft(NamedTuple):
    """A part of a request that a report leaves out."""

    kind: LoopKind
    text: str
    source: Cite


@dataclass(slots=True)
class CompoundRequests:
    """The parts of open requests, by message, and the words that calls and reports named since."""

    sections: list[RequestSection] = field(default_factory=list)
    """The numbered sections of open requests: listed as open only if a report leaves them out."""
    touched: dict[str, bool] = field(default_factory=dict)
    """By stem of a word: what the model stated and worked on since a request of several parts was made; False
    for what it only read."""
    worked: bool = False
    """Whether a call was made since the last text that counted as a report on those parts."""
    _parts: dict[str, MessageParts] = field(init=False, default_factory=dict)
    """By message: the parts of the user's requests and questions in it."""
    is_open: bool = field(init=False, default=False)
    """Whether a message with several parts is open."""

    def __post_init__(self) -> None:
        self.is_open = bool(self.sections)

    def add(self, loop: Loop) -> None:
        """Add a request or question of the user."""
        parts = self._parts.setdefault(loop.source.message, MessageParts())
        parts.add(loop.text, loop.source)
        self.is_open |= len(parts.several) > 1

    def add_sections(self, text: str, source: Cite) -> None:
        """Add the numbered sections of a message."""
        self.sections += numbered_sections(text, source)
        self.is_open |= bool(self.sections)

    def forget(self, message: str) -> None:
        """Forget the parts of a message that was put off as a whole."""
        self._parts.pop(message, None)

    def keep(self, waiting: Collection[str]) -> None:
        """Forget the parts of all messages but these, and what was done since if none is left."""
        self._parts = {message: parts for message, parts in self._parts.items() if message in waiting}
        self.sections = [section for section in self.sections if section.source.message in waiting]
        self.is_open = bool(self.sections) or any(len(one.several) > 1 for one in self._parts.values())
        if not self.is_open:
            self.touched = {}

    def work(self, calls: list[Asked]) -> None:
        """Record what calls work on."""
        if self.is_open:
            done, looked = work_of(calls)
            self.touched |= dict.fromkeys(sorted(looked - self.touched.keys()), False)
            self.touched |= dict.fromkeys(sorted(done), True)
            self.worked = True

    def left_by(self, text: str, waiting: Collection[str], by_hand: Iterable[Cite]) -> list[PartLeft]:
        """Return the parts that a report leaves out, and record what it says is done.

        ``waiting`` are the messages with open requests; ``by_hand`` is what a person closed.
        """
        report, since = Report.of(text), WorkSince(self.touched, self.worked)
        in_sections = {section.source.message for section in self.sections}
        left: list[PartLeft] = []
        for message, parts in list(self._parts.items())[-_MOST_COMPOUND:]:
            several = parts.several if message not in in_sections else ()
            for part in left_out(several, report, since):
                left.append(PartLeft(part.kind, part.text, part.source))
        for section in left_sections(self.sections, text, report.done, self.touched):
            if section.source.message in waiting:
                left.append(PartLeft(LoopKind.REQUEST, section.text, section.source))
        self.touched |= dict.fromkeys(sorted(report.done), True)
        self.worked = False
        closed = list(by_hand)
        return [part for part in left if not any(_holds(one, part.source) for one in closed)]


def _holds(outer: Cite, inner: Cite) -> bool:
    """Return True if a place is within another one."""
    if outer[:2] != inner[:2]:
        return False
    return outer.start <= inner.start and (outer.end is None or (inner.end or outer.end + 1) <= outer.end)
