"""Compact a session, and undo that. ``Session.compact`` and ``Session.fit`` lead here.

1. ``requested_task`` turns what a person asks for into a ``CompactionTask``: which view, down to which size,
   and why. If the window is full, ``fit.py`` makes the task.
2. ``compacting`` has a plan made for the task (``clew.compaction.decide``), which may ask a model.
3. It appends the plan to the log as an event, if the view is still the one that the plan was made for.

``undo`` appends an event that takes compactions back.
"""

from __future__ import annotations

import time
from dataclasses import replace
from uuid import uuid4

from clew.budget import DEFAULT, Asker, Compact, CompactionRequested, Fill, Stop, Trigger
from clew.compaction.decide import DecidedCompaction, Writer, decide
from clew.compaction.judge import judge_rules, judge_view
from clew.compaction.plan.plan import apply
from clew.compaction.propose.story import quoted_messages
from clew.compaction.task import CompactionTask
from clew.compaction.verify import Report, count_values, losses_in_full
from clew.errors import BudgetExceeded, CompactionRefused, InputError, NotFound, NothingToGain, StalePlan
from clew.log import COMPACTION, JUDGEMENT, UNDO, new_event
from clew.log.protocol import Event
from clew.log.store import MemoryStore
from clew.message import JsonObject, fixed_prefix
from clew.providers.model import Steps, drive
from clew.rules.judgement import Judgement, judgement_to_json
from clew.session.gauge import Gauge, measure
from clew.session.history import Compaction, compaction_event, compaction_history, refusal_event
from clew.session.message_range import check_focus, choose_range, range_of
from clew.session.replay import Replay
from clew.session.summariser import no_model
from clew.tokens import UNKNOWN

NOTHING_SMALLER = "nothing could be made smaller"

# The task ---------------------------------------------------------------------------------------------


def requested_task(
    replay: Replay, gauge: Gauge, target_tokens: int | None, focus: str | None, messages: str | None = None
) -> CompactionTask | None:
    """Return the task of a compaction that a person asks for; None if there is nothing to gain.

    They name a range of messages, or a size for the whole view, or leave the size to the policy.
    """
    check_focus(focus)
    if messages is not None and target_tokens is not None:
        raise InputError("a compaction has a size or a range, not both", "leave one of them out")
    if messages is not None:
        return _task_of_range(replay, gauge, messages, focus)
    if target_tokens is not None:
        return _task_of_size(replay, gauge, target_tokens, focus)
    budget = measure(replay, gauge, (CompactionRequested(Asker.USER),))
    match budget.verdict:
        case Compact(trigger, why, target):
            task = task_of(replay, gauge, target, trigger, why, focus, sized=False)
            most = gauge.most_left(Fill.of(budget.allotment).fixed_tokens)
            return replace(task, most_tokens=most, beside_tokens=replay.pending_tokens)
        case Stop(why):
            raise BudgetExceeded(why)
        case _:
            return None


def _task_of_range(replay: Replay, gauge: Gauge, messages: str, focus: str | None) -> CompactionTask:
    chosen = choose_range(messages, replay.items, replay.shown_digest, len(replay.view.whole))
    reason = f"{chosen.description}, as asked"
    any_smaller = replay.tokens - 1  # a range has no size to reach
    task = task_of(replay, gauge, any_smaller, Trigger.MANUAL, reason, focus, sized=False)
    return replace(task, chosen=(chosen.start, chosen.stop))


def _task_of_size(
    replay: Replay, gauge: Gauge, target_tokens: int, focus: str | None
) -> CompactionTask | None:
    prompt = replay.items[: fixed_prefix(replay.items)]
    target = target_tokens + sum(replay.counter.count(item.message) for item in prompt)
    if replay.tokens <= target:
        return None
    reason = f"down to {target_tokens:,} tokens, as asked"
    return task_of(replay, gauge, target, Trigger.MANUAL, reason, focus)


def task_of(  # noqa: PLR0913 - the goal is five values, each set by one caller only
    replay: Replay,
    gauge: Gauge,
    target_tokens: int,
    trigger: Trigger,
    reason: str,
    focus: str | None = None,
    *,
    sized: bool = True,
) -> CompactionTask:
    """Return the task to compact the current view."""
    return CompactionTask(
        view=replay.items,
        ledger=replay.ledger,
        counter=replay.counter,
        target_tokens=target_tokens,
        originals=replay.finder(quoted_messages(replay.ledger.turns)),
        sizes=[replay.counter.count(item.message) for item in replay.items],
        shown=replay.shown_digest,
        carried=replay.carried,
        digest_id=f"d{replay.compactions + 1}",
        keep=gauge.keep,
        focus=focus,
        trigger=trigger,
        reason=reason,
        sized=sized,
    )


# Decide and commit ------------------------------------------------------------------------------------


def preview_task(task: CompactionTask | None) -> DecidedCompaction | None:
    """Return what a compaction would do; no model is called and nothing is logged."""
    if task is None:
        return None
    try:
        return _with_values_counted(drive(decide(task), no_model), task)
    except NothingToGain:
        if task.sized:
            raise
        return None


def compacting(
    replay: Replay, task: CompactionTask | None, writer: Writer | None
) -> Steps[Compaction | None]:
    """Decide on a compaction and commit it; None if there is nothing to do."""
    if task is None or replay.view.off:
        return None
    return (yield from _Attempt(replay, task).run(writer))


class _Attempt:
    """One attempt to compact a session; it leaves a compaction in the log, or why there is none."""

    def __init__(self, replay: Replay, task: CompactionTask) -> None:
        self._replay, self._task = replay, task
        self._name = f"clew {uuid4().hex[:8]}"
        """By which the budget's state knows that this attempt is running."""
        self._planned_for = replay.shape
        """The view now: while a model is asked, this session may read what other processes append."""

    def run(self, writer: Writer | None) -> Steps[Compaction | None]:
        """Have rules judged, decide on a plan, and commit it."""
        replay, task = self._replay, self._task
        replay.state = replay.state.begin(self._name, time.time())
        try:
            judged = yield from judge_rules(task, writer)
            if judged.judgement:
                _record_judgement(replay, judged.judgement)
                self._check_view()
                task = replace(task, ledger=replay.ledger)
            outcome = judged.added_to((yield from decide(task, writer)))
            if outcome.plan.operations:
                return self._commit(_with_values_counted(outcome, task))
            self._record_failure(NOTHING_SMALLER)
        except (CompactionRefused, BudgetExceeded) as refusal:
            self._record_failure(refusal.detail, str(refusal))
            if not isinstance(refusal, NothingToGain) or task.sized:
                raise
        finally:
            # Also after an error or a cancelled call: the compaction is no longer running.
            replay.state = replay.state.released(self._name)
        return None

    def _commit(self, outcome: DecidedCompaction) -> Compaction:
        """Append the compaction; messages appended meanwhile stay, but a reshaped view is a ``StalePlan``."""
        replay, task, plan = self._replay, self._task, outcome.plan

        def event() -> list[Event]:
            self._check_view()
            apply(plan, replay.items)  # raises if the plan no longer matches the view
            beside = replay.outside_tokens + (0 if plan.digests else replay.pending_tokens)
            before, after = plan.tokens_before + beside, plan.tokens_after + beside
            state = replay.state.ended(task.trigger, before, after, plan.target_tokens + beside, self._name)
            asked_range = range_of(replay.items[slice(*task.chosen)]) if task.chosen else None
            return [compaction_event(outcome, replay.items, replay.refs, state, task.focus, asked_range)]

        return replay.compaction(replay.append(event))

    def _check_view(self) -> None:
        """Raise ``StalePlan`` if the view was reshaped since this attempt began."""
        if self._replay.shape != self._planned_for:
            raise StalePlan("another process compacted or undid a compaction meanwhile")

    def _record_failure(self, reason: str, text: str | None = None) -> None:
        """Log that the attempt failed, so that no later process pays for the same again.

        Failures in the end stop automatic attempts. That of a range which a person chose is not logged: it
        says nothing about whether the whole view can be made smaller.
        """
        replay, task = self._replay, self._task

        def event() -> list[Event]:
            used = replay.tokens + replay.outside_tokens + replay.pending_tokens
            failed = replay.state.failed(used, reason, self._name)
            return [refusal_event(text or reason, task.trigger, failed)]

        if task.chosen is None:
            replay.append(event)


def _with_values_counted(outcome: DecidedCompaction, task: CompactionTask) -> DecidedCompaction:
    """Return the outcome with exact values counted in its report."""
    return replace(outcome, report=count_values(outcome.report, outcome.plan, task))


def losses_of(replay: Replay, name: str) -> Report:
    """Return the report of a compaction with all losses named, by the log up to it."""
    events = replay.store.read(replay.ctx, kinds=[COMPACTION.name, UNDO.name])
    made = next((one.compaction for one in compaction_history(events) if one.name == name), None)
    if made is None:
        raise NotFound(f"there is no compaction {name!r}", "`clew trace SESSION` lists them")
    past = MemoryStore()
    past.append(replay.ctx, [one.event for one in replay.store.read(replay.ctx, 0, made.seq - 1)], None)
    before = Replay(past, replay.ctx, replay.counter)
    before.catch_up()
    gauge = Gauge(UNKNOWN, DEFAULT)  # how much stays is decided already
    task = task_of(before, gauge, made.plan.target_tokens, Trigger.MANUAL, made.plan.reason)
    return losses_in_full(made.report, made.plan, task)


def judging(replay: Replay, writer: Writer) -> Steps[str]:
    """Have a model judge the user's new sentences, without a compaction; return why it failed, if it did."""
    call = yield from judge_view(replay.ledger.pins, replay.items, writer)
    if call.judgement:
        _record_judgement(replay, call.judgement)
    return call.problem


def _record_judgement(replay: Replay, judgement: Judgement) -> None:
    """Log what a model said about rules, unless another process has logged a judgement of them meanwhile."""
    body = judgement_to_json(judgement)

    def event() -> list[Event]:
        pins = replay.ledger.pins
        unjudged = [pin for ref, _ in judgement.judged if (pin := pins.match(ref)) and pin.verdict is None]
        if pins.judged_upto >= judgement.upto and not unjudged and not judgement.ended:
            return []
        return [new_event(JUDGEMENT.name, body, JUDGEMENT.version)]

    replay.append(event)


# Undo -------------------------------------------------------------------------------------------------

ADVICE = "nothing was changed; list the compactions in force, then undo again"


def undo(replay: Replay, compactions: int, newest: str | None = None) -> list[Compaction]:
    """Append an undo of the last compactions; return them, newest first.

    Only compactions that the caller has seen are undone: up to ``newest``, the last one shown to them, or by
    default those that this process has read. ``StalePlan`` if another process compacted or undid since.
    """
    seen = _in_force(replay)
    undone: list[Compaction] = []

    def decide() -> list[Event]:
        in_force = _in_force(replay)
        last = replay.compaction(in_force[-1]).name if in_force else None
        if newest is not None and last != newest:
            raise StalePlan(
                f"{newest} is no longer the last compaction in force, {last or 'none'} is", ADVICE
            )
        if newest is None and in_force != seen:
            raise StalePlan(_what_happened(seen, in_force), ADVICE)
        if not 0 < compactions <= len(in_force):
            some = {0: "there is none", 1: "there is 1"}.get(len(in_force), f"there are {len(in_force)}")
            raise InputError(f"cannot undo {compactions}", f"{some} to undo")
        undone[:] = [replay.compaction(seq) for seq in in_force[-compactions:]]
        back = sum(compaction.plan.tokens_before - compaction.plan.tokens_after for compaction in undone)
        state = replay.state.undone(replay.tokens + back)
        body: JsonObject = {"compaction": undone[0].seq, "state": state.to_json()}
        return [new_event(UNDO.name, body, UNDO.version)]

    replay.append(decide)
    return undone[::-1]


def _in_force(replay: Replay) -> list[int]:
    return [step.seq for step in replay.view.steps]


def _what_happened(seen: list[int], in_force: list[int]) -> str:
    if set(in_force) <= set(seen):
        return "another process undid a compaction meanwhile"
    return "another process compacted meanwhile"
