"""The ledger: what must survive compaction, extracted from messages as they are added.

``Ledger.add(item)`` gives a message to one tracker after the other (rules, goals, decisions, open work,
files, failures, approvals); properties such as ``ledger.goal`` and ``ledger.loops.open`` return what they
found. Each message is read once, at a cost that depends on its own length only; no model is called. A
session keeps one ledger, compaction writes digests from it, and ``to_json`` saves it so that a history is
not read again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clew.errors import StoreDamaged
from clew.ledger.approvals import Approval, Approvals
from clew.ledger.artifacts import Artifacts
from clew.ledger.checks import LastCheck, LastRun
from clew.ledger.decisions import DecidedBy, Decision, Decisions
from clew.ledger.exchange import OpenCalls, Reading
from clew.ledger.failures import Failure, Failures
from clew.ledger.goal import Goal, Goals
from clew.ledger.kept_facts import KeptFacts
from clew.ledger.loop import Loop
from clew.ledger.loops import Loops
from clew.ledger.turns import Turns
from clew.ledger.user_quotes import UserQuote, UserQuotes
from clew.ledger.working_folder import WorkingFolder
from clew.message import Cite, Item, JsonObject, Message, Trust, words
from clew.rules.codec import copy_tracker, from_json, to_json
from clew.rules.findings import Findings
from clew.rules.judgement import Judgement, MessageNamed
from clew.rules.pins import Pins
from clew.rules.rule import RuleRef, Verdict
from clew.rules.speech import utterances

VERSION = 7
"""Version of the JSON form that ``to_json`` writes; a snapshot of another one is built again from the log."""
_BLOCK = 256
"""Messages that one tracker reads before the next tracker starts; chosen by hand."""


@dataclass(slots=True)
class _Kept:
    """The trackers whose state the codec writes."""

    messages: int = 0
    pins: Pins = field(default_factory=Pins)
    goals: Goals = field(default_factory=Goals)
    decisions: Decisions = field(default_factory=Decisions)
    loops: Loops = field(default_factory=Loops)
    artifacts: Artifacts = field(default_factory=Artifacts)
    failures: Failures = field(default_factory=Failures)
    approvals: Approvals = field(default_factory=Approvals)
    facts: KeptFacts = field(default_factory=KeptFacts)
    words: UserQuotes = field(default_factory=UserQuotes)
    turns: Turns = field(default_factory=Turns)
    folder: WorkingFolder = field(default_factory=WorkingFolder)


class Ledger:
    """What a session's messages established: rules, goals, decisions, open work, files, failures."""

    def __init__(self, *, story: bool = True) -> None:
        """Start empty.

        ``story=False`` leaves decisions, turns, approvals and the user's quotes empty, for a caller that only
        needs rules and the state of the work.
        """
        self._kept = _Kept()
        self._calls = OpenCalls()
        self._story = story

    def __len__(self) -> int:
        """Return how many messages were added."""
        return self._kept.messages

    def add(self, item: Item, recorded: Findings | None = None) -> Findings:
        """Add the next message; return the rules it states and ends, or ``recorded`` if given."""
        (found,) = self._take((item,), (recorded,))
        return found

    def look(self, items: Sequence[Item]) -> list[Findings]:
        """Return the rules that messages to come state and end, without adding the messages."""
        return self._kept.pins.look([Reading(0, item, utterances(item), [], []) for item in items])

    def extend(self, items: Iterable[Item]) -> None:
        """Add several messages."""
        waiting = iter(items)
        while block := tuple(itertools.islice(waiting, _BLOCK)):
            self._take(block)

    def _take(
        self, items: Sequence[Item], recorded: Sequence[Findings | None] | None = None
    ) -> list[Findings]:
        """Let one tracker after the other read a block of messages; they do not depend on each other.

        This is a third faster than message by message, because code and data of one tracker stay in the CPU
        caches. The one exception: failures need the files that the artifacts tracker saw change.
        """
        kept = self._kept
        readings = [self._calls.read(item, number) for number, item in enumerate(items, start=kept.messages)]
        kept.messages += len(readings)
        known = recorded or itertools.repeat(None)
        found = [kept.pins.add(*one) for one in zip(readings, known, strict=False)]
        story = (kept.approvals, kept.words) if self._story else ()
        for keeper in (kept.goals, kept.loops, kept.folder, *story):
            for reading in readings:
                keeper.add(reading)
        for reading in readings:
            if self._story and (reading.said or reading.exchanges):
                kept.decisions.add(reading)
            if self._story and reading.said:
                kept.turns.add(reading)
            if reading.calls and self._story:
                kept.decisions.offers = []  # the model went on without an answer
                kept.turns.edited(reading)
            if reading.exchanges:
                kept.failures.add(reading, kept.artifacts.add(reading))
        return found

    @property
    def folder(self) -> WorkingFolder:
        """Return the folder in which the agent works, as its harness said last."""
        return self._kept.folder

    @property
    def pins(self) -> Pins:
        """Return the rules, and the operations a person may apply to them by hand."""
        return self._kept.pins

    def judge(self, judgement: Judgement) -> None:
        """Apply what a model said about sentences of the user: which are rules, and which are decisions.

        A rule that was found and is a decision in its eyes is listed as one, unless the rule holds anyway.
        """
        pins = self._kept.pins
        pins.judge(judgement)
        if self._story:
            not_rules = (ref for ref, verdict in judgement.judged if verdict is Verdict.DECISION)
            over = (ref for ref in not_rules if (pin := pins.match(ref)) and not pin.is_active)
            decided = (*judgement.decided, *over)
            self._kept.decisions.judge(one for one in decided if not pins.is_refused(one.quote))

    def judge_alike(self, other: Ledger, message_named: MessageNamed) -> None:
        """Take over what was judged of the same messages in another form of them, with secrets masked."""
        self._kept.pins.judge_alike(other.pins, message_named)
        here = (
            (one, message_named(one.source.message)) for one in other.decisions if one.by is DecidedBy.USER
        )
        self._kept.decisions.judge(
            RuleRef(one.quote, one.source) for one, message in here if message and _says(message, one)
        )

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Return the goal and its changes, oldest first."""
        return self._kept.goals.all

    @property
    def goal(self) -> Goal | None:
        """Return the current goal."""
        return self._kept.goals.current

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Return the decisions that no later one replaced, oldest first."""
        return self._kept.decisions.current

    @property
    def user_quotes(self) -> tuple[UserQuote, ...]:
        """Return the user's words that every digest quotes although they were not recognised as rules."""
        return self._kept.words.all

    def restore_user_quotes(self, quotes: Iterable[tuple[str, Cite, Trust]]) -> None:
        """Restore the quotes of the user that a digest carries for messages that are gone, oldest first."""
        self._kept.words.restore(quotes)

    @property
    def loops(self) -> Loops:
        """Return the open and closed work items."""
        return self._kept.loops

    def close_loop(self, id_: str, why: str) -> tuple[Loop, ...]:
        """Close the open work item with this id by hand, or all items of a collapsed batch."""
        return self._kept.loops.close(id_, why)

    def reopen_loop(self, id_: str) -> Loop:
        """Reopen a work item that was closed by hand."""
        return self._kept.loops.reopen(id_)

    @property
    def last_run(self) -> LastRun | None:
        """Return the result of the last test run."""
        return self._kept.loops.last_run

    @property
    def last_check(self) -> LastCheck | None:
        """Return the result of the last lint, type check or format check."""
        return self._kept.loops.last_check

    @property
    def artifacts(self) -> Artifacts:
        """Return files, commands and addresses."""
        return self._kept.artifacts

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Return the failures, fixed or not."""
        return self._kept.failures.all

    @property
    def approvals(self) -> tuple[Approval, ...]:
        """Return the requests for approval and their answers."""
        return self._kept.approvals.all

    @property
    def refusals(self) -> tuple[Approval, ...]:
        """Return the calls that a person refused and that were not made since."""
        return self._kept.approvals.refusals

    @property
    def plan(self) -> Approval | None:
        """Return the approval of the plan in force: the latest one, unless the goal changed after it."""
        plan = self._kept.approvals.plan
        if plan is None or plan.answered is None or self.goal is None:
            return plan
        return plan if self.goal.source.number < plan.answered.number else None

    @property
    def facts(self) -> KeptFacts:
        """Return the passages that a person chose to keep verbatim."""
        return self._kept.facts

    @property
    def turns(self) -> Turns:
        """Return the turns (request and last report) and the agent's findings."""
        return self._kept.turns

    def copy(self) -> Ledger:
        """Return an independent copy; frozen values are shared."""
        twin = Ledger(story=self._story)
        twin._kept = copy_tracker(self._kept)
        twin._calls = self._calls.copy()
        return twin

    def to_json(self) -> JsonObject:
        """Return the state as JSON, so that a session can continue without reading its history again."""
        return {"version": VERSION, "kept": to_json(self._kept), "calls": self._calls.to_json()}

    @classmethod
    def from_json(cls, value: JsonObject) -> Ledger:
        """Return the ledger that ``to_json`` wrote; ``StoreDamaged`` if the version or the shape differs."""
        ledger = cls()
        try:
            if value["version"] != VERSION:
                raise StoreDamaged(f"the ledger snapshot has version {value['version']}, expected {VERSION}")
            ledger._kept = from_json(_Kept, value["kept"])
            ledger._calls = OpenCalls.from_json(value["calls"])
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as cause:
            raise StoreDamaged(
                f"the ledger snapshot is malformed ({type(cause).__name__}: {cause})"
            ) from cause
        return ledger


def _says(message: Message, decision: Decision) -> bool:
    """Whether a message has the words of a decision where the decision cites them."""
    _, part, start, end = decision.source
    return words(message.parts[part])[start:end] == decision.quote
