"""The ledger: what must survive a session, kept by code as messages come in.

Each message is read once, when it is added, at a cost that depends on its own length only. No model is asked.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clew.errors import StoreDamaged
from clew.ledger.approvals import Approval, Approvals
from clew.ledger.artifacts import Artifacts
from clew.ledger.checked import LastCheck
from clew.ledger.codec import copied, from_json, to_json
from clew.ledger.decisions import Decision, Decisions
from clew.ledger.early import EarlyWords, UserWords
from clew.ledger.exchange import OpenCalls, Reading
from clew.ledger.failing import LastRun
from clew.ledger.failures import Failure, Failures
from clew.ledger.findings import Findings
from clew.ledger.goal import Goal, Goals
from clew.ledger.kept import KeptFacts
from clew.ledger.loop import Loop
from clew.ledger.loops import Loops
from clew.ledger.outcome import Ended
from clew.ledger.pins import Pins
from clew.ledger.speech import said
from clew.ledger.turns import Turns
from clew.ledger.values import LOOKING_BACK, Values
from clew.message import Cite, Item, JsonObject, Trust

VERSION = 3
"""Of the JSON form."""
_BLOCK = 256
"""Messages that the keepers read in turn."""


@dataclass(slots=True)
class _Kept:
    """The keepers whose state the codec writes."""

    messages: int = 0
    pins: Pins = field(default_factory=Pins)
    goals: Goals = field(default_factory=Goals)
    decisions: Decisions = field(default_factory=Decisions)
    loops: Loops = field(default_factory=Loops)
    artifacts: Artifacts = field(default_factory=Artifacts)
    failures: Failures = field(default_factory=Failures)
    approvals: Approvals = field(default_factory=Approvals)
    facts: KeptFacts = field(default_factory=KeptFacts)
    words: UserWords = field(default_factory=UserWords)
    turns: Turns = field(default_factory=Turns)


class Ledger:
    """What a session has laid down, decided, left open, touched, broken, been allowed, and named."""

    def __init__(self, *, exact_values: bool = True) -> None:
        """Start empty; without ``exact_values`` a third of the cost is saved, and ``values`` stays empty."""
        self._kept = _Kept()
        self._calls = OpenCalls()
        self._values = Values()
        self._exact_values = exact_values

    def __len__(self) -> int:
        """Return how many messages were added."""
        return self._kept.messages

    def add(self, item: Item, recorded: Findings | None = None) -> Findings:
        """Take in the next message; return the rules that it states and ends: ``recorded``, if given."""
        (found,) = self._take((item,), (recorded,))
        return found

    def look(self, items: Sequence[Item]) -> list[Findings]:
        """Return the rules that messages to come state and end, without taking them in."""
        return self._kept.pins.look([Reading(0, item, said(item), [], []) for item in items])

    def extend(self, items: Iterable[Item]) -> None:
        """Take in several messages."""
        waiting = iter(items)
        while block := tuple(itertools.islice(waiting, _BLOCK)):
            self._take(block)

    def _take(
        self, items: Sequence[Item], recorded: Sequence[Findings | None] | None = None
    ) -> list[Findings]:
        """Let one keeper after the other read some messages: no keeper but one looks at what another has.

        That costs a third less than one message after the other, because the processor stays with one task.
        """
        kept = self._kept
        readings = [self._calls.read(item, number) for number, item in enumerate(items, start=kept.messages)]
        kept.messages += len(readings)
        known = recorded or itertools.repeat(None)
        found = [kept.pins.add(*one) for one in zip(readings, known, strict=False)]
        for keeper in (kept.goals, kept.loops, kept.approvals, kept.words):
            for reading in readings:
                keeper.add(reading)
        for reading in readings:
            if reading.said:
                kept.decisions.add(reading)
                kept.turns.add(reading)
            if reading.exchanges:
                kept.failures.add(reading, kept.artifacts.add(reading))
        for reading in readings if self._exact_values else ():
            failed = {one.answered.part for one in reading.exchanges if one.outcome.ended is Ended.FAILED}
            self._values.add(reading.item, reading.number, failed, _looking_back(reading))
        return found

    @property
    def pins(self) -> Pins:
        """Return the standing rules, and what a person may do to them by hand."""
        return self._kept.pins

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Return the goal and its changes, oldest first."""
        return self._kept.goals.all

    @property
    def goal(self) -> Goal | None:
        """Return what the session is about now."""
        return self._kept.goals.current

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Return what was decided and not replaced since, oldest first."""
        return self._kept.decisions.current

    @property
    def early_words(self) -> tuple[EarlyWords, ...]:
        """Return words of the user that every digest quotes, although no rule was recognised in them."""
        return self._kept.words.all

    def restore_early_words(self, quotes: Iterable[tuple[str, Cite, Trust]]) -> None:
        """Keep again the words of the user that a digest of messages that are gone quotes, oldest first."""
        self._kept.words.restore(quotes)

    @property
    def loops(self) -> Loops:
        """Return what is unfinished, and what no longer is."""
        return self._kept.loops

    def close_loop(self, id_: str, why: str) -> tuple[Loop, ...]:
        """Close what is open under this id by hand: one loop, or a flood that is told as one."""
        return self._kept.loops.close(id_, why)

    def reopen_loop(self, id_: str) -> Loop:
        """Open a loop again that was closed by hand."""
        return self._kept.loops.reopen(id_)

    @property
    def last_run(self) -> LastRun | None:
        """Return how the tests went when they were run last."""
        return self._kept.loops.last_run

    @property
    def last_check(self) -> LastCheck | None:
        """Return how a linter, a type checker or the like judged last."""
        return self._kept.loops.last_check

    @property
    def artifacts(self) -> Artifacts:
        """Return files, commands and addresses."""
        return self._kept.artifacts

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Return what went wrong, mended or not."""
        return self._kept.failures.all

    @property
    def approvals(self) -> tuple[Approval, ...]:
        """Return what leave was asked for, and what came of it."""
        return self._kept.approvals.all

    @property
    def refusals(self) -> tuple[Approval, ...]:
        """Return the calls that a person refused and nobody has made since."""
        return self._kept.approvals.refusals

    @property
    def facts(self) -> KeptFacts:
        """Return the passages that a person keeps word for word."""
        return self._kept.facts

    @property
    def turns(self) -> Turns:
        """Return what was asked and reported, turn by turn, and what the agent found out."""
        return self._kept.turns

    @property
    def values(self) -> Values:
        """Return the exact values."""
        return self._values

    def copy(self) -> Ledger:
        """Return an independent copy; what is frozen is shared."""
        twin = Ledger(exact_values=self._exact_values)
        twin._kept = copied(self._kept)
        twin._calls = self._calls.copy()
        twin._values = self._values.copy()
        return twin

    def to_json(self) -> JsonObject:
        """Return everything as JSON, so that a session can go on without reading its history again."""
        kept = to_json(self._kept)
        return {
            "version": VERSION,
            "kept": kept,
            "calls": self._calls.to_json(),
            "values": self._values.to_json(),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Ledger:
        """Return the ledger that wrote this."""
        ledger = cls()
        try:
            if value["version"] != VERSION:
                raise StoreDamaged(f"a ledger of version {value['version']}, not {VERSION}")
            ledger._kept = from_json(_Kept, value["kept"])
            ledger._calls = OpenCalls.from_json(value["calls"])
            ledger._values = Values.from_json(value["values"])
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as cause:
            raise StoreDamaged(f"a ledger cannot be read back ({type(cause).__name__}: {cause})") from cause
        return ledger


def _looking_back(reading: Reading) -> set[int]:
    """Return the parts of a message that ask clew's own memory, or are its answers."""
    asked = {one.cite.part for one in reading.calls if one.call.name in LOOKING_BACK}
    return asked | {one.answered.part for one in reading.exchanges if one.call.name in LOOKING_BACK}
