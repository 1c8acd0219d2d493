"""Compact a session and undo it: set the goal, decide on a plan, commit it if the view is still the same.

``requested_task`` (a person asks) and ``fitting`` (the window is full) make a ``CompactionTask``;
``compacting`` decides on it, which may call a model, and appends the result to the log; ``undo`` takes
compactions back.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast
from uuid import uuid4

from clew.budget import (
    DEFAULT,
    Asker,
    Cache,
    Compact,
    CompactionRequested,
    CostChoice,
    CostMove,
    Fill,
    Option,
    Outlook,
    Region,
    ResultArrived,
    Signal,
    Stop,
    TokenBudget,
    Trigger,
    requests_to_come,
)
from clew.compaction.decide import DecidedCompaction, Writer, decide
from clew.compaction.judge import judge_rules, judge_view
from clew.compaction.plan.digest import spans
from clew.compaction.plan.plan import apply
from clew.compaction.propose import pruned_size
from clew.compaction.propose.story import quoted_messages
from clew.compaction.task import CompactionTask
from clew.compaction.verify import Report, count_values, losses_in_full
from clew.errors import BudgetExceeded, CompactionRefused, InputError, NotFound, NothingToGain, StalePlan
from clew.log import COMPACTION, JUDGEMENT, UNDO, new_event
from clew.log.protocol import Event
from clew.log.store import MemoryStore
from clew.message import JsonObject, cut_points, fixed_prefix
from clew.message.patterns import lazy_pattern
from clew.providers.model import Steps, drive
from clew.rules.judgement import Judgement, judgement_to_json
from clew.session.fit import (
    FitResult,
    Gauge,
    budget_event,
    oversized_results,
    shortened_option,
    unread_count,
    with_unread,
)
from clew.session.history import Compaction, compaction_event, compaction_history, refusal_event
from clew.session.replay import Replay, Shape
from clew.session.result import RANGE, check_focus
from clew.session.summariser import no_model
from clew.tokens import UNKNOWN


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is about to be sent, apart from the view."""

    signals: tuple[Signal, ...] = ()
    fixed_tokens: Mapping[Region, int] | None = None
    """Tokens sent in addition to the view, by region: tools, instructions, notes."""
    cache_age_seconds: float | None = None
    """Seconds since the last request; None before the first."""
    made: int = 0
    """Requests sent so far."""
    about: JsonObject | None = None
    """Extra fields for the TokenBudget event: the parts of the request, what memory returned and why."""


def split_range(text: str) -> tuple[str | None, str | None]:
    """Return the range at the start of what a person typed after ``/compact``, and the focus after it."""
    match = RANGE.match(text)
    chosen, focus = (match[0].strip(), text[match.end() :]) if match else (None, text)
    return chosen, focus.strip() or None


# The goal ---------------------------------------------------------------------------------------------

_AS_ASKED = ", as asked"
"""The end of the reason of a compaction that a person asked for."""
_MESSAGE = lazy_pattern(r"\bm(\d+)")


def range_in(reason: str) -> str | None:
    """Return the range of messages that a person asked for, from a plan's reason; None if it names none."""
    numbers = [int(number) for number in _MESSAGE.findall(reason.partition(" (")[0])]
    if not numbers or not reason.endswith(_AS_ASKED):
        return None
    first = 1 if reason.startswith("d") else min(numbers)  # a range that begins with the digest before it
    return f"m{first}-m{max(numbers)}"


def requested_task(
    replay: Replay, gauge: Gauge, target_tokens: int | None, focus: str | None, messages: str | None = None
) -> CompactionTask | None:
    """Return the task of a compaction that a person asks for; None if there is nothing to gain."""
    check_focus(focus)
    if messages is not None:
        if target_tokens is not None:
            raise InputError("a compaction has a size or a range, not both", "leave one of them out")
        chosen = _range_indices(replay, messages)
        names = spans(item.id for item in replay.items[slice(*chosen)])
        reason = f"{names}{_remarks(replay, messages, chosen)}{_AS_ASKED}"
        task = task_of(replay, gauge, replay.tokens - 1, Trigger.MANUAL, reason, focus)
        return replace(task, chosen=chosen, sized=False)
    if target_tokens is not None:
        prompt = replay.items[: fixed_prefix(replay.items)]
        target = target_tokens + sum(replay.counter.count(item.message) for item in prompt)
        reason = f"down to {target_tokens:,} tokens{_AS_ASKED}"
        if replay.tokens <= target:
            return None
        return task_of(replay, gauge, target, Trigger.MANUAL, reason, focus)
    budget = measure(replay, gauge, Request((CompactionRequested(Asker.USER),)))
    match budget.verdict:
        case Compact(trigger, why, target):
            task = task_of(replay, gauge, target, trigger, why, focus, sized=False)
            return replace(task, most_tokens=gauge.most_left(Fill.of(budget.allotment).fixed_tokens))
        case Stop(why):
            raise BudgetExceeded(why)
        case _:
            return None


def _range_indices(replay: Replay, messages: str) -> tuple[int, int]:
    """Return the indices of a range in the view, extended so that no call is separated from its result."""
    match = RANGE.fullmatch(messages)
    if match is None:
        raise InputError(
            f"{messages!r:.60} is not a range of messages", "write it as m1-m20, or m30- to the end"
        )
    first, last = int(match[1]), int(match[2] or len(replay.view.whole))
    if match[2] and first > last:
        raise InputError(f"the range {messages.strip()} ends before it begins", "write it as m1-m20")
    view, prompt = replay.items, fixed_prefix(replay.items)
    covers = replay.shown_digest[1].covers if replay.shown_digest else ()
    covered = {int(name[1:]) for name in covers if name[0] == "m"}
    numbers = [int(item.id[1:]) if item.id[0] == "m" else 0 for item in view]
    inside = [i for i in range(prompt, len(view)) if first <= numbers[i] <= last]
    if not inside:
        where = (
            f"in {replay.shown_digest[0]}" if replay.shown_digest and last in covered else "not in the view"
        )
        raise InputError(
            f"the messages {messages.strip()} are {where}", "`clew show` lists the messages of the view"
        )
    points = [point for point in cut_points([item.message for item in view]) if point < len(view)]
    start = prompt if first in covered else max(point for point in points if point <= inside[0])
    stop = min((point for point in points if point > inside[-1]), default=points[-1])
    if stop <= max(start, prompt):
        raise InputError("the last turn is not compacted", "choose a range that ends before it")
    return max(start, prompt), stop


def _remarks(replay: Replay, messages: str, chosen: tuple[int, int]) -> str:
    """Return remarks on a range: what it names and is not compacted, and what is compacted with it."""
    match = RANGE.fullmatch(messages)
    last = int(match[2]) if match and match[2] else 0
    start, stop = chosen
    remarks = []
    behind = [
        item.id for item in replay.items[start:stop] if item.id[0] == "m" and int(item.id[1:]) > last > 0
    ]
    if behind:
        remarks.append(f"with {spans(behind)}: a call and its results stay together")
    if last > len(replay.view.whole):
        remarks.append(f"m{last} does not exist, the last message is m{len(replay.view.whole)}")
    if any(item.id[0] == "m" and int(item.id[1:]) <= last for item in replay.items[stop:]):
        remarks.append(
            f"{spans(item.id for item in replay.items[stop:])} stays: the last turn is not compacted"
        )
    return f" ({'; '.join(remarks)})" if remarks else ""


def measure(replay: Replay, gauge: Gauge, request: Request) -> TokenBudget:
    """Measure how full the window is and whether to compact."""
    tokens_by_region = {region: replay.counter.tokens(tally) for region, tally in replay.weights.items()}
    fixed = dict(request.fixed_tokens or {})
    if Region.PINNED not in fixed and (rules := replay.pending_rules):
        fixed[Region.PINNED] = replay.counter.count_text(rules.text)
    for region, tokens in fixed.items():
        tokens_by_region[region] = tokens_by_region.get(region, 0) + tokens
    signals = request.signals
    if not any(isinstance(signal, ResultArrived) for signal in signals):
        signals = (*signals, *oversized_results(replay.items, gauge, replay.counter))
    budget = gauge.measure(tokens_by_region, signals, replay.state)
    replay.used_tokens = Fill.of(budget.allotment).used_tokens
    return budget


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

_NOTHING_SMALLER = "nothing could be made smaller"
_SEND_LESS = "revoke or shorten rules, send shorter messages, or use a model with a larger window"


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
    """Decide on a compaction and commit it; None if there is nothing to do.

    A failure is recorded, which in the end stops automatic attempts, except that of a range a person chose:
    it says nothing about whether the whole view can be made smaller.
    """
    if task is None or replay.view.off:
        return None
    holder = f"clew {uuid4().hex[:8]}"
    planned_for = replay.shape  # before a model is asked: this session may read other processes' events then
    replay.state = replay.state.begin(holder, time.time())
    try:
        judged = yield from judge_rules(task, writer)
        if judged.judgement:
            _record_judgement(replay, judged.judgement)
            _check_shape(replay, planned_for)
            task = replace(task, ledger=replay.ledger)
        outcome = judged.added_to((yield from decide(task, writer)))
        if not outcome.plan.operations:
            if task.chosen is None:
                _record_failure(replay, task, holder, _NOTHING_SMALLER)
            return None
        return _commit(replay, _with_values_counted(outcome, task), task, holder, planned_for)
    except (CompactionRefused, BudgetExceeded) as refusal:
        if task.chosen is None:
            _record_failure(replay, task, holder, refusal.detail, str(refusal))
        if isinstance(refusal, NothingToGain) and not task.sized:
            return None
        raise
    finally:
        # Also after an error or a cancelled call: the compaction is no longer running.
        replay.state = replay.state.released(holder)


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


def _record_failure(
    replay: Replay, task: CompactionTask, holder: str, reason: str, text: str | None = None
) -> None:
    """Log a failed compaction, so that no later process pays for the same attempt again."""

    def event() -> list[Event]:
        failed = replay.state.failed(max(replay.tokens, replay.used_tokens), reason, holder)
        return [refusal_event(text or reason, task.trigger, failed)]

    replay.append(event)


def _check_shape(replay: Replay, planned_for: Shape) -> None:
    """Raise ``StalePlan`` if the view was reshaped since a compaction of it was planned."""
    if replay.shape != planned_for:
        raise StalePlan("another process compacted or undid a compaction meanwhile")


def _commit(
    replay: Replay, outcome: DecidedCompaction, task: CompactionTask, holder: str, planned_for: Shape
) -> Compaction:
    """Append the compaction; messages appended meanwhile stay, but a reshaped view is a ``StalePlan``."""
    plan = outcome.plan

    def event() -> list[Event]:
        _check_shape(replay, planned_for)
        apply(plan, replay.items)  # raises if the plan no longer matches the view
        sizes = plan.tokens_before, plan.tokens_after, plan.target_tokens
        state = replay.state.ended(task.trigger, *sizes, holder)
        return [compaction_event(outcome, replay.items, replay.refs, state, task.focus)]

    seq = replay.append(event)
    return replay.compaction(seq)


# Before a request -------------------------------------------------------------------------------------


def fitting(
    replay: Replay, gauge: Gauge, request: Request, writer: Writer | None, auto: bool
) -> Steps[FitResult]:
    """Measure the window, compact if due and worth it, and log one TokenBudget event.

    A compaction that fails raises only if the request does not fit without it; the event is logged first.
    """
    budget = measure(replay, gauge, request)
    verdict = budget.verdict
    choice = compaction = None
    refused = ""
    if isinstance(verdict, Compact):
        task, choice = _weigh_compaction(replay, gauge, request, budget, with_model=writer is not None)
        if auto and choice.move is not CostMove.WAIT:
            fill = Fill.of(budget.allotment)
            try:
                compaction = yield from _compacting_what_is_due(replay, task, writer, fill)
            except (CompactionRefused, BudgetExceeded, StalePlan) as refusal:
                if fill.used_tokens > gauge.window.usable_tokens:
                    failed = FitResult(budget, choice, refused=refusal.detail)
                    replay.append(lambda: [budget_event(failed, request.about)])
                    raise
                refused = refusal.detail
    before = None
    if compaction or refused:
        before, budget = budget, measure(replay, gauge, Request((), request.fixed_tokens))
    fitted = FitResult(budget, choice, compaction, refused, before)
    replay.append(lambda: [budget_event(fitted, request.about)])
    return fitted


def _compacting_what_is_due(
    replay: Replay, task: CompactionTask, writer: Writer | None, fill: Fill
) -> Steps[Compaction | None]:
    """Compact; raise if nothing could be made smaller. None if compaction is switched off."""
    compaction = yield from compacting(replay, task, writer)
    if compaction is None and not replay.view.off:
        raise BudgetExceeded(f"{fill}; {_NOTHING_SMALLER}", _SEND_LESS)
    return compaction


def _weigh_compaction(
    replay: Replay, gauge: Gauge, request: Request, budget: TokenBudget, *, with_model: bool
) -> tuple[CompactionTask, CostChoice]:
    """Return the task of a compaction that is due, and whether it pays, by pruning alone or with a digest."""
    verdict = cast(Compact, budget.verdict)
    other = sum((request.fixed_tokens or {}).values())  # sent in addition to the view
    new = replay.items[len(replay.items) - unread_count(replay.items) :]
    unread_tokens = sum(replay.counter.count(item.message) for item in new)
    fill = Fill.of(budget.allotment)
    most = gauge.most_left(fill.fixed_tokens)
    outlook = Outlook(
        fill.used_tokens,
        Cache(gauge.model, request.cache_age_seconds),
        requests_to_come(request.made),
        unread_tokens,
    )
    oversized = verdict.trigger is Trigger.OVERSIZED
    target = verdict.target_tokens
    if not oversized:
        target = with_unread(target, unread_tokens, most)
    goal = replace(verdict, target_tokens=target)
    task = task_of(replay, gauge, target - other, verdict.trigger, verdict.why)
    task = replace(task, most_tokens=most - other)
    pruned = shortened_option(goal, outlook) if oversized else _prune_only_option(task, other)
    choice = gauge.weigh(budget.allotment, goal, outlook, with_model=with_model, pruned=pruned)
    if pruned and choice.move is CostMove.PRUNE:
        task = replace(task, target_tokens=max(task.target_tokens, pruned.after_tokens - other))
    return task, choice


def _prune_only_option(task: CompactionTask, other_tokens: int) -> Option | None:
    """Return what pruning alone would leave of a request; None if it would free nothing."""
    left = pruned_size(task)
    if left is None:
        return None
    after, unchanged = left
    return Option(CostMove.PRUNE, after + other_tokens, unchanged)


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
