"""One call of ``clew.compact``: parse the list, measure it, compact it, return the new list.

``ListCall`` holds what is known of one call. Its input is the caller's list and the result of the call
before, its output a ``CompactResult``: ``unchanged`` if there is room left, else what ``compacting`` returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from clew.budget import (
    Cache,
    Compact,
    CostMove,
    Fill,
    Milestone,
    Outlook,
    Region,
    Signal,
    Stop,
    Trigger,
    requests_to_come,
)
from clew.errors import BudgetExceeded, CompactionRefused
from clew.ledger.ledger import Ledger
from clew.message import Item, Origin, Role, fixed_prefix
from clew.providers import wire_named
from clew.providers.model import AsyncModel, Model, Steps
from clew.session.conversation import ConversationState, advance, start
from clew.session.digest_in_list import carried_by, restore
from clew.session.gauge import (
    OVERSIZED_SHARE,
    Gauge,
    oversized_results,
    reason_with_unread,
    unread_count,
    with_unread,
)
from clew.session.parsed_input import ParsedInput
from clew.session.result import CompactResult, Options, restore_conversation
from clew.settings import rules_are_judged, switched_off
from clew.tokens import ModelInfo, TokenCounter, counter_for, model_named

if TYPE_CHECKING:  # imported at the first compaction: most calls need none of it
    from clew.compaction.decide import DecidedCompaction, Writer
    from clew.compaction.judge import RuleCall
    from clew.compaction.plan import Plan
    from clew.compaction.task import CompactionTask

NEVER_FULL = 1 << 40
"""A window that holds any list."""
ANSWERED = Milestone("the last request was answered")
"""If the window is filling up, the moment between two tasks is better than the middle of the next one."""


class CompactionGoal(NamedTuple):
    """Why a list is to be compacted, and how far."""

    target_tokens: int
    trigger: Trigger
    reason: str
    most_tokens: int | None = None
    """The size up to which the target may be raised."""


class ListCall:
    """One call of ``clew.compact``."""

    def __init__(
        self,
        parsed: ParsedInput,
        conversation: ConversationState,
        counted_by: tuple[ModelInfo, TokenCounter],
        options: Options,
        *,
        is_continued: bool = False,
    ) -> None:
        self._parsed = parsed
        self._options = options
        self._is_continued = is_continued
        """The list continues that of the call before."""
        model, self._counter = conversation.record.counter = counted_by
        self._gauge = Gauge(model, options.policy, options.window)
        self.conversation = conversation
        self.unchanged = self._measured()
        """The result if nothing is compacted, with the measured window."""

    # Parse the list --------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls, messages: Iterable[Any] | Mapping[str, Any], options: Options, previous: CompactResult | None
    ) -> Self:
        """Parse a list as the continuation of the last one, trying its codec first, or from its beginning."""
        if switched_off():
            options, previous = replace(options, window=NEVER_FULL, target_tokens=None), None
        before = previous.conversation if previous else None
        codec = before.record.codec if before else None
        wire = wire_named(options.wire) if options.wire else None
        if not isinstance(messages, Mapping | str | bytes | list) and isinstance(messages, Iterable):
            messages = list(messages)  # an iterator can be read only once
        parsed = ParsedInput.of(
            messages, wire, codec if wire is None or (codec and codec.wire is wire) else None
        )
        model = model_named(options.model or parsed.model or "unknown")
        known = before.record.counter if before else None
        counter = known[1] if known and known[0] == model else counter_for(model)  # it remembers texts
        conversation = advance(parsed, before, counter) if before else None
        is_continued = conversation is not None
        if conversation is None:  # no previous result, or the list is not a continuation of it
            parsed = ParsedInput.of(messages, wire) if codec else parsed
            conversation = start(parsed, counter)
            if previous is not None and previous.saved is not None:
                conversation = (
                    restore_conversation(previous.saved, conversation.record, counter) or conversation
                )
        return cls(parsed, conversation, (model, counter), options, is_continued=is_continued)

    def read_changed_entries(self) -> None:
        """Look for entries that the caller changed in place since they were parsed, before a compaction.

        That compares whole entries, which is too slow for every call.
        """
        known = self.conversation.entries
        if self._is_continued and self.conversation.record.changed_at(known, whole=True) < known:
            parsed, counter = self._parsed, self._counter
            advanced = advance(parsed, self.conversation, counter, thorough=True)
            self.conversation = advanced or start(parsed, counter)
            self.unchanged = self._measured()

    # Measure it ------------------------------------------------------------------------------------------

    def _measured(self) -> CompactResult:
        """Return the messages as they are, with their measured budget."""
        view, gauge, options = self.conversation.view, self._gauge, self._options
        tokens = {**view.regions, Region.TOOLS: options.fixed_tokens}
        full = view.tokens + options.fixed_tokens >= gauge.policy.warn_at.of(gauge.window.usable_tokens)
        signals: tuple[Signal, ...] = (ANSWERED,) if full and _is_answered(view.items) else ()
        if view.tokens > OVERSIZED_SHARE * gauge.window.usable_tokens:
            signals = (*signals, *oversized_results(view.items, gauge, self._counter))
        return CompactResult(
            messages=view.sent(self.conversation.record.entries),
            system=self._parsed.system_field,
            budget=gauge.measure(tokens, signals, view.state),
            tokens_before=view.tokens,
            tokens_after=view.tokens,
            digest=view.digest,
            conversation=self.conversation,
        )

    def goal(self) -> CompactionGoal | None:
        """Return the goal set by the caller or the window; None if nothing is to be done."""
        view, options, budget = self.conversation.view, self._options, self.unchanged.budget
        if options.target_tokens is not None:
            target = options.target_tokens + sum(view.sizes[: fixed_prefix(view.items)])
            reason = f"down to {options.target_tokens:,} tokens, as asked"
            return CompactionGoal(target, Trigger.MANUAL, reason) if view.tokens > target else None
        if budget is None:
            return None
        verdict = budget.verdict
        if isinstance(verdict, Stop) and not verdict.fits:
            raise BudgetExceeded(verdict.why)
        if not isinstance(verdict, Compact) or not self._pays(verdict):
            return None
        target, most = verdict.target_tokens, self._gauge.most_left(Fill.of(budget.allotment).fixed_tokens)
        if verdict.trigger is not Trigger.OVERSIZED:
            unread_tokens = sum(view.sizes[len(view.items) - unread_count(view.items) :])
            target = with_unread(target, unread_tokens, most)
        why = reason_with_unread(verdict.why, verdict.target_tokens, target)
        other = options.fixed_tokens
        return CompactionGoal(target - other, verdict.trigger, why, most - other)

    def _pays(self, verdict: Compact) -> bool:
        """Whether a compaction that could wait saves more than it costs, with a warm prompt cache.

        Shortening a result that was never sent always does.
        """
        budget = self.unchanged.budget
        if verdict.must or verdict.trigger is Trigger.OVERSIZED or budget is None:
            return True
        outlook = Outlook(
            Fill.of(budget.allotment).used_tokens,
            Cache(self._gauge.model, age_seconds=0.0),
            requests_to_come(self.conversation.view.replies),
        )
        choice = self._gauge.weigh(budget.allotment, verdict, outlook, with_model=False)
        return choice.move is not CostMove.WAIT

    # Compact it ------------------------------------------------------------------------------------------

    def compacting(self, goal: CompactionGoal, summariser: Model | AsyncModel | None) -> Steps[CompactResult]:
        """Decide on a plan and apply it. A plan whose digest would show a secret is made again, masked."""
        from clew.compaction.decide import Writer, decide

        writer = Writer(summariser.name, summariser.window_tokens) if summariser else None
        task, budget = self._task(goal), self.unchanged.budget
        judged = yield from _judge_rules(task, writer)
        try:
            outcome = yield from decide(task, writer)
        except (CompactionRefused, BudgetExceeded):
            if goal.trigger is not Trigger.MANUAL and budget and Fill.of(budget.allotment).fits:
                return self.unchanged
            raise
        if self._options.mask_secrets and _shows_secrets(outcome.plan):
            task = self._masked(task)
            outcome = yield from decide(task, writer)
        outcome = judged.added_to(outcome) if judged else outcome
        return self._compacted(outcome, task) if outcome.plan.operations else self.unchanged

    def _task(self, goal: CompactionGoal) -> CompactionTask:
        """Return the task of a compaction: the view to shrink, and everything known about it."""
        from clew.compaction.ledger_claims import MandatoryContent
        from clew.compaction.task import CompactionTask

        record, view = self.conversation.record, self.conversation.view
        digest = view.digest
        number = int(digest.id[1:]) if digest and digest.id[1:].isdecimal() else 0
        return CompactionTask(
            view=tuple(view.items),
            ledger=record.ledger,
            counter=self._counter,
            target_tokens=goal.target_tokens,
            originals=record.originals.get,
            sizes=tuple(view.sizes),
            most_tokens=goal.most_tokens,
            shown=(digest.id, digest) if digest else None,
            carried=carried_by(digest, record.ledger) if digest and view.recovered else MandatoryContent(),
            digest_id=f"d{number + 1}",
            keep=self._gauge.keep,
            focus=self._options.focus,
            trigger=goal.trigger,
            reason=goal.reason,
            wire=record.codec.wire,
        )

    def _masked(self, task: CompactionTask) -> CompactionTask:
        """Return the same task with all secrets masked."""
        from clew.secrets import mask_message

        digest, originals = self.conversation.view.digest, self.conversation.record.originals
        content = {name: mask_message(message) for name, message in originals.items()}
        ledger = Ledger()
        for name, message in content.items():
            if digest and name == digest.id:
                restore(ledger, digest)
            else:
                ledger.add(Item(name, message))
        ledger.judge_alike(task.ledger, content.get)
        items = tuple(Item(item.id, mask_message(item.message)) for item in task.view)
        sizes = tuple(task.counter.count(item.message) for item in items)
        return replace(task, view=items, sizes=sizes, originals=content.get, ledger=ledger)

    def _compacted(self, outcome: DecidedCompaction, task: CompactionTask) -> CompactResult:
        """Return the result after a compaction: the new view, its messages, and how it was decided."""
        from clew.compaction.plan.plan import apply

        plan, (record, entries, before, *_) = outcome.plan, self.conversation
        view = before.replaced(apply(plan, before.items), record.codec, task.counter)
        view.digest = plan.digests[-1] if plan.digests else view.digest
        beside = self._options.fixed_tokens
        sizes = plan.tokens_before + beside, plan.tokens_after + beside
        view.state = view.state.ended(Trigger(plan.trigger), *sizes, plan.target_tokens + beside)
        view.find_marks(record.entries)
        return replace(
            self.unchanged,
            messages=view.sent(record.entries),
            plan=plan,
            checked=outcome.report,
            task=task,
            attempts=outcome.attempts,
            usage=outcome.usage,
            calls=outcome.calls,
            not_judged=outcome.not_judged,
            tokens_after=plan.tokens_after,
            digest=view.digest,
            conversation=ConversationState(record, entries, view, len(view.slots), len(view.items)),
        )


def read_current(items: Sequence[Item], hidden: range, model: str) -> CompactResult:
    """Read a list of which its tool removed a part, without compacting it.

    The ledger and the originals hold every message; the view leaves out those at the indices ``hidden``. The
    messages keep their names. To compact it, pass the messages as one list, with this result as ``previous``.
    """
    model_info = model_named(model)
    counter = counter_for(model_info)
    parsed = ParsedInput.of([item.message for item in items])
    conversation = start(parsed, counter, hidden, [item.id for item in items])
    options = Options(window=NEVER_FULL, model=model)
    return ListCall(parsed, conversation, (model_info, counter), options).unchanged


def _is_answered(items: Sequence[Item]) -> bool:
    """Whether the newest message is a user request, and the one before it was answered."""
    if len(items) < 2:
        return False
    last, before = items[-1].message, items[-2].message
    asked = last.role is Role.USER and last.origin is Origin.SPOKEN and not any(last.results)
    return asked and before.role is Role.ASSISTANT and not any(before.calls)


def _judge_rules(task: CompactionTask, writer: Writer | None) -> Steps[RuleCall | None]:
    """Have the summariser judge rules and apply its judgement; None without one."""
    if writer is None or not rules_are_judged():
        return None
    from clew.compaction.judge import judge_rules

    call = yield from judge_rules(task, writer)
    if call.judgement:
        task.ledger.judge(call.judgement)
    return call


def _shows_secrets(plan: Plan) -> bool:
    """Whether the messages that a plan inserts show a secret; what they leave out is not searched."""
    from clew.compaction.plan.codec import shown_messages
    from clew.secrets import find_in_message

    return any(
        not secret.sealed for _, message in shown_messages(plan) for secret in find_in_message(message)
    )
