"""The state of a session derived from its log, updated event by event.

::

    replay = Replay(store, ctx, counter)
    replay.open()                        # start from the last snapshot, apply the events since
    replay.append(lambda: [event])       # append, and apply what this and other processes appended
    replay.items, replay.ledger          # what the model sees, and what code knows of the session

Everything here can be thrown away and derived again. ``apply_event`` applies one event: a message is
numbered and added to the ledger and the view; a change made by hand is made again in the ledger; after a
compaction, an undo or a switch the messages of the view are loaded again when they are needed. Adding a
message takes time proportional to its length, not to the length of the session.

``SessionView`` (``view.py``) reads the messages, ``LoggedChanges`` (``changes.py``) applies changes by hand.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from clew.budget import FRESH, State
from clew.compaction.ledger_claims import MandatoryContent
from clew.errors import ClewError, HeadMoved, InputError, StoreBusy, StoreDamaged
from clew.ledger.ledger import Ledger
from clew.log import (
    ABOUT,
    COMPACTION,
    JUDGEMENT,
    LOOP,
    MESSAGE,
    PIN,
    REFUSAL,
    RESHAPING,
    RULES,
    TOKEN_BUDGET,
    UNDO,
    LogProblem,
    Ref,
    View,
    fold,
    root,
)
from clew.log.protocol import Ctx, Event, Head, Store, StoredEvent
from clew.message import Item, JsonObject, Role
from clew.rules.judgement import judgement_from_json
from clew.session.changes import LoggedChanges
from clew.session.digest_in_list import carried_by, digest_in, restore
from clew.session.found_rules import RecordedRules
from clew.session.history import state_of
from clew.session.snapshot import Snapshot, load_snapshot, save_interval, save_snapshot
from clew.session.view import SessionView
from clew.tokens import UNKNOWN, Calibration, TokenCounter, counter_for

if TYPE_CHECKING:
    from clew.request.sections import Piece

STATEFUL = frozenset(kind.name for kind in (COMPACTION, UNDO, REFUSAL, TOKEN_BUDGET))
"""The kinds of events that hold the budget's state after them."""
TRIES = 64
"""How often an append is retried while other processes append to the same session; chosen by hand."""
LONGEST_WAIT_S = 0.1
"""The longest random wait between two tries, reached at the last ones; chosen by hand."""
CALIBRATION = "calibration"
"""The key of an ``about`` event with what reported usage taught the token counter."""


class Shape(NamedTuple):
    """What reshapes a view, in numbers: equal as long as messages were only added to it."""

    compactions: int
    """How many the log holds, undone ones included."""
    in_force: int
    off: bool


class Replay(SessionView):
    """The current state of a session."""

    def __init__(self, store: Store, ctx: Ctx, counter: TokenCounter, *, off: bool = False) -> None:
        super().__init__(store, ctx, counter)
        self.off_here = off
        """This process shows the whole history, whatever the log says; nothing of that is recorded."""
        self._reset(RecordedRules())

    def _reset(self, recorded: RecordedRules) -> None:
        """Discard everything derived; ``recorded`` says which rules were found in which message."""
        self.show(View(off=self.off_here))
        self.recorded = recorded
        self.ledger = Ledger()
        self.state: State = FRESH
        self.outside_tokens = 0
        """Tokens that the last measured request had besides the view and ``pending_rules``."""
        self.about: JsonObject = {}
        """The recorded facts about the session itself, such as its model."""
        self.compactions = 0
        """How many compactions the log holds, undone ones included."""
        self.digests: list[str] = []
        """The ids of messages that hold a digest of an earlier call, made outside of this session."""
        self._hash = root(self.ctx.session).hash
        self._problems: list[LogProblem] = []
        self._changes = LoggedChanges(self.store, self.ctx)

    def catch_up(self) -> None:
        """Read and apply the events appended since the last call."""
        while not self._apply_new_events():
            events = self.store.read(self.ctx, kinds=[RULES.name])
            self._reset(
                RecordedRules.of([event for event in events if not self._changes.is_imported(event.seq)])
            )

    def _apply_new_events(self) -> bool:
        """Apply the new events; False if a rescan among them changed the rules of messages read before."""
        for stored in self.store.read(self.ctx, self.view.seq):
            if stored.event.kind == RULES.name:
                if self._changes.is_imported(stored.seq):
                    self._problem(stored, "skipped: an imported file does not decide which rules are found")
                elif not self.recorded.agrees(stored, len(self.view.whole)):
                    return False
            self.apply_event(stored)
        return True

    @property
    def head(self) -> Head:
        """Return the end of the log as far as it was read."""
        return Head(self.view.seq, self._hash)

    @property
    def problems(self) -> list[LogProblem]:
        """Return the events that no longer apply and were skipped, and those whose meaning was guessed."""
        return sorted((*self.view.problems, *self._problems))

    def changed_rule(self, seq: int) -> str:
        """Return the id of the rule that an event of this process changed; raise if the event was skipped."""
        if seq not in self._changes.subjects:
            reasons = (problem.reason for problem in self.problems if problem.seq == seq)
            raise InputError(f"event {seq} has no effect: {next(reasons, 'it was not applied')}")
        return self._changes.subjects[seq]

    # What the state says ---------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """Return what a compaction, an undo or a switch changes, and an added message does not."""
        return Shape(self.compactions, len(self.view.steps), self.view.off)

    @property
    def pending_rules(self) -> Piece | None:
        """Return the rules changed by hand that the view does not show yet; None if switched off."""
        rules = self.ledger.pins.changed_by_hand
        if self.view.off or not rules:
            return None
        from clew.request.pieces import rules_by_hand  # imported only if rules were changed by hand

        return rules_by_hand(rules, self.items)

    @property
    def pending_tokens(self) -> int:
        """Return the tokens of ``pending_rules``."""
        rules = self.pending_rules
        return self.counter.count_text(rules.text) if rules else 0

    @property
    def carried(self) -> MandatoryContent:
        """Return what only digests of earlier calls say, of the last one: goal, open work, decisions, …."""
        last = self.original(self.digests[-1]) if self.digests else None
        digest = digest_in(Item(self.digests[-1], last)) if last else None
        return carried_by(digest, self.ledger) if digest else MandatoryContent()

    # Snapshots -------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Start from the last snapshot and apply what follows; save a new snapshot if that was much."""
        if snapshot := load_snapshot(self.store, self.ctx):
            self._start_from(snapshot)
        saved = self.view.seq
        self.catch_up()
        if self.view.seq - saved >= save_interval(self.view.seq):
            self.save()

    def _start_from(self, snapshot: Snapshot) -> None:
        self.show(replace(snapshot.view, off=True) if self.off_here else snapshot.view)
        self.ledger, self.state, self.compactions = snapshot.ledger, snapshot.state, snapshot.compactions
        self.recorded, self._problems = snapshot.recorded, snapshot.problems
        self.about, self.digests = snapshot.about, snapshot.digests
        self._calibrate()
        self._hash = snapshot.head.hash

    def _save_if_due(self, before: int) -> None:
        """Save a snapshot if this process's append, from ``before`` on, passed a multiple of the interval.

        So of all processes that append to a session only one saves at a time.
        """
        interval = save_interval(self.view.seq)
        if before // interval != self.view.seq // interval:
            self.save()

    def save(self) -> None:
        """Save a snapshot of the derived state, if the store supports it."""
        if not self.view.seq or self.off_here:
            return
        snapshot = Snapshot(
            self.head,
            self.view,
            self.ledger,
            self.state,
            self.compactions,
            self.recorded,
            self._problems,
            self.about,
            self.digests,
        )
        save_snapshot(self.store, self.ctx, snapshot)

    # Appending events ------------------------------------------------------------------------------------

    def append_anywhere(self, events: Sequence[Event]) -> int:
        """Append events that do not depend on the session's state; return the position of the last."""
        events = self._with_findings(events)
        last = self.store.append(self.ctx, events, None)
        self.catch_up()
        self._save_if_due(last.seq - len(events))
        return last.seq

    def append(self, make: Callable[[], Sequence[Event]]) -> int:
        """Append events that ``make`` derives from the current state; return the position of the last.

        If another process appends first, its events are applied and ``make`` is called again.
        """
        for tried in range(TRIES):
            if tried:  # a random wait, so that processes in lockstep do not collide every time
                time.sleep(random.random() * LONGEST_WAIT_S * tried / TRIES)
            self.catch_up()
            head = self.head
            events = self._with_findings(make())
            with suppress(HeadMoved):
                last = self.store.append(self.ctx, events, head)
                self.catch_up()
                self._save_if_due(head.seq)
                return last.seq
        raise StoreBusy(f"other processes keep appending to {self.ctx.session!r}")

    def _with_findings(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return events preceded by the rules found in messages without a record, so that these stay."""
        if not self.recorded.unrecorded or not events or any(event.kind == RULES.name for event in events):
            return events
        return [self.recorded.event(len(self.view.whole)), *events]

    # Applying events -------------------------------------------------------------------------------------

    def apply_event(self, stored: StoredEvent) -> None:
        """Apply the next event."""
        self.view, self._hash = fold([stored], self.view), stored.hash
        if self.view.problems and self.view.problems[-1].seq == stored.seq:
            return
        kind, body = stored.event.kind, stored.event.body
        if kind == MESSAGE.name:
            self._apply_message(stored)
        elif kind in (PIN.name, LOOP.name):
            self._apply_change(stored)
        elif kind == JUDGEMENT.name:
            self._apply_judgement(stored)
        elif kind == ABOUT.name:
            self.about = {**self.about, **body}
            self._calibrate()
        elif kind in RESHAPING:
            self.view = replace(self.view, off=True) if self.off_here else self.view
            self._loaded = None
            self.compactions += kind == COMPACTION.name
        self._apply_budget_state(stored)

    def _apply_budget_state(self, stored: StoredEvent) -> None:
        """Take over the state of the budget in an event; one that cannot be read is listed as a problem."""
        if stored.event.kind not in STATEFUL:  # the fields of other events are the caller's
            return
        try:
            self.state = state_of(stored.event.body) or self.state
        except InputError as cause:
            self._problem(stored, f"the budget's state is left as it was: {cause.detail}")

    def _apply_message(self, stored: StoredEvent) -> None:
        """Apply a message event: number the message, update the ledger and, if it is loaded, the view."""
        (message,) = MESSAGE.messages(MESSAGE.current(stored).event.body)
        item = Item(f"m{len(self.view.whole)}", message)
        if digest := digest_in(item):
            restore(self.ledger, digest)
            self.digests.append(item.id)
        try:
            recorded = self.recorded.findings(item, stored.event.body)
            rules = self.ledger.add(item, recorded)
            if recorded is None:
                self.recorded.found(item, rules)
        except StoreDamaged as cause:
            self._problem(stored, f"{cause.detail}; the rules in it were searched again")
            self.ledger.add(item)
        if self._loaded is not None:
            self._loaded.add(item, Ref(stored.seq))
        results = self.counter.count(message) if message.role is Role.TOOL else 0
        if results:
            self.state = self.state.saw_result(results)

    def _apply_change(self, stored: StoredEvent) -> None:
        """Apply a change made by hand; one that no longer applies is skipped and listed as a problem."""
        try:
            remark = self._changes.apply(stored, self.ledger)
        except (InputError, StoreDamaged) as cause:
            remark = f"skipped: {cause.detail}"
        if remark:
            self._problem(stored, remark)

    def _apply_judgement(self, stored: StoredEvent) -> None:
        """Apply what a model said about rules; not if the event came with an imported file."""
        if self._changes.is_imported(stored.seq):
            self._problem(stored, "skipped: an imported file does not decide which sentences are rules")
            return
        try:
            self.ledger.judge(judgement_from_json(stored.event.body, self.original))
        except StoreDamaged as cause:
            self._problem(stored, f"skipped: {cause.detail}")

    def _calibrate(self) -> None:
        """Take over the recorded calibration of the token counter where it is based on more reports."""
        recorded = self.about.get(CALIBRATION)
        if isinstance(recorded, dict):
            known = self.counter.calibration.learnt
            with suppress(InputError):  # written by another version
                for name, learnt in Calibration.from_json(recorded).learnt.items():
                    if name not in known or known[name].reports < learnt.reports:
                        known[name] = learnt

    def _problem(self, stored: StoredEvent, reason: str) -> None:
        self._problems.append(LogProblem(stored.seq, stored.event.kind, reason))


def skipped_events(store: Store, ctx: Ctx) -> tuple[LogProblem, ...]:
    """Return the events that opening a session skips; empty if the session cannot be read at all."""
    replay = Replay(store, ctx, counter_for(UNKNOWN))
    try:
        replay.catch_up()
    except ClewError:
        return ()
    return tuple(replay.problems)
