"""``clew.compact``: make a plain message list fit a window, for any agent loop.

Nothing is stored. Messages are numbered by position (``m1``, ``m2``, …); a digest of an earlier call is
recognised by its text and keeps the numbers it covers, so that its references stay valid.

Pass the last result to the next call (``previous=``), with either the list that it returned or the caller's
own whole list, which then stays compacted as it was until the window fills up again. Without ``previous=``,
the state is recovered from the text of the digest.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.budget import (
    DEFAULT,
    Cache,
    Compact,
    CostMove,
    Fill,
    Milestone,
    Outlook,
    Policy,
    Region,
    Signal,
    Stop,
    Trigger,
    requests_to_come,
)
from clew.compaction.plan.plan import paused_gc
from clew.errors import BudgetExceeded, CompactionRefused, InputError
from clew.ledger.ledger import Ledger
from clew.message import Item, Origin, Role, fixed_prefix
from clew.providers import wire_named
from clew.providers.model import AsyncModel, Model, Steps
from clew.session.conversation import ConversationState, advance, start
from clew.session.digest_in_list import carried_by, restore
from clew.session.gauge import OVERSIZED_SHARE, Gauge, oversized_results, unread_count, with_unread
from clew.session.parsed_input import ParsedInput
from clew.session.result import CompactResult, Options, restore_conversation
from clew.session.summariser import (
    AsyncSummariser,
    Summariser,
    as_async_model,
    as_model,
    run_steps,
    run_steps_async,
)
from clew.settings import rules_are_judged, switched_off
from clew.tokens import UNKNOWN, ModelInfo, TokenCounter, counter_for, model_named

if TYPE_CHECKING:  # imported at the first compaction: most calls need none of it
    from clew.compaction.decide import DecidedCompaction, Writer
    from clew.compaction.judge import RuleCall
    from clew.compaction.plan import Plan
    from clew.compaction.task import CompactionTask

NEVER_FULL = 1 << 40
"""A window that holds any list."""


def compact(  # noqa: PLR0913  # the front door: all but the list and the window are keywords with defaults
    messages: Iterable[Any] | Mapping[str, Any],
    window: int | None = None,
    *,
    previous: CompactResult | None = None,
    target_tokens: int | None = None,
    model: str | None = None,
    summariser: Summariser | None = None,
    summarizer: Summariser | None = None,
    focus: str | None = None,
    policy: Policy = DEFAULT,
    fixed_tokens: int = 0,
    wire: str | None = None,
    mask_secrets: bool = True,
) -> CompactResult:
    """Make a message list fit a context window; while there is room, return it unchanged.

    One new tool result that alone takes more than half of the usable window is shortened even then.

    Call it before every request, each time with the last result::

        fitted = clew.compact(messages, window=200_000, previous=fitted)
        reply = client.messages.create(messages=fitted.messages, ...)
        messages.append({"role": "assistant", "content": reply.content})

    Args:
        messages: A provider's list or a whole request body as any SDK takes it, a framework's message
            objects, or a list of ``clew.Message``.
        window: The context window of the model that receives the list; by default that of ``model``.
        previous: The result of the last call. Without it, the list is compacted from its beginning.
        target_tokens: Compact now to this size, system prompt excluded; by default only when the window is
            nearly full.
        model: The model that receives the list; decides how tokens are counted. By default the body's model.
        summariser: Writes the prose of the digest: a ``clew.Model``, a function ``str -> str``, or a name
            such as ``anthropic/claude-sonnet-4-5``. Without one the digest is written by code alone.
        summarizer: The same as ``summariser``.
        focus: What matters now, in a person's words.
        policy: When to compact and how far down.
        fixed_tokens: Tokens sent with every request in addition to the list, such as tool definitions.
        wire: The format of the list: anthropic, openai, responses or gemini; detected by default.
        mask_secrets: Mask keys, tokens and passwords in everything clew writes.

    Raises:
        InputError: an argument or a message cannot be used.
        BudgetExceeded: what must be sent does not fit the window.
        CompactionRefused: no proposal passed the checks; nothing was changed. Neither this nor the error
            above is raised while the list fits the window as it is, unless ``target_tokens`` is given.
    """
    options = Options(window, target_tokens, model, focus, policy, fixed_tokens, wire, mask_secrets)
    _warn_without_window(options, messages)
    _check(previous, summariser, summarizer)
    writer = as_model(summariser or summarizer)
    steps = _compacting(messages, options, previous, writer)
    if writer is None:  # a model may take a minute, in which others need the collector
        with paused_gc():
            return run_steps(steps, None)
    return run_steps(steps, writer)


async def compact_async(  # noqa: PLR0913  # as above
    messages: Iterable[Any] | Mapping[str, Any],
    window: int | None = None,
    *,
    previous: CompactResult | None = None,
    target_tokens: int | None = None,
    model: str | None = None,
    summariser: AsyncSummariser | None = None,
    summarizer: AsyncSummariser | None = None,
    focus: str | None = None,
    policy: Policy = DEFAULT,
    fixed_tokens: int = 0,
    wire: str | None = None,
    mask_secrets: bool = True,
) -> CompactResult:
    """Do the same as ``compact`` in a thread, so that the event loop is not blocked.

    The summariser may also be an asynchronous model or function.
    """
    options = Options(window, target_tokens, model, focus, policy, fixed_tokens, wire, mask_secrets)
    _warn_without_window(options, messages)
    _check(previous, summariser, summarizer)
    writer = as_async_model(summariser or summarizer)
    messages = list(messages) if isinstance(messages, list) else messages  # may grow while this waits
    return await run_steps_async(_compacting(messages, options, previous, writer), writer)


def _check(previous: object, summariser: object, summarizer: object) -> None:
    if previous is not None and not isinstance(previous, CompactResult):
        what = f"previous is an object of type {type(previous).__name__}"
        raise InputError(what, "pass the CompactResult that the last call returned")
    if summariser is not None and summarizer is not None:
        raise InputError("both summariser and summarizer are given", "pass one of them")


def _warn_without_window(options: Options, messages: object) -> None:
    """Warn if the window has to be guessed."""
    named = options.model or (isinstance(messages, Mapping) and messages.get("model"))
    if options.window is None and options.target_tokens is None and not named:
        warnings.warn(
            f"neither window nor model is given: clew assumes a window of {UNKNOWN.window_tokens:,} tokens. "
            "Pass window=, or model= with a known model",
            UserWarning,
            stacklevel=3,
        )


def _compacting(
    messages: Iterable[Any] | Mapping[str, Any],
    options: Options,
    previous: CompactResult | None,
    summariser: Model | AsyncModel | None,
) -> Steps[CompactResult]:
    """Return what ``compact`` returns: parse the list, measure it, and compact it if it is too full."""
    # 1. Parse the list: with a previous result, only what was appended since.
    if switched_off():
        options, previous = replace(options, window=NEVER_FULL, target_tokens=None), None
    parsed, conversation, counter, continued = _parse(messages, options, previous)
    model, _ = conversation.record.counter or (UNKNOWN, counter)
    gauge = Gauge(model, options.policy, options.window)

    # 2. Measure. Most calls end here: there is room left.
    now = _unchanged_result(parsed, conversation, counter, gauge, options)
    goal = _goal(now, conversation, gauge, options)
    if goal is None:
        return now

    # 3. Before a compaction, look for entries that the caller changed in place since they were parsed. That
    #    compares whole entries, which is too slow for every call.
    known = conversation.entries
    if continued and conversation.record.changed_at(known, whole=True) < known:
        conversation = advance(parsed, conversation, counter, thorough=True) or start(parsed, counter)
        now = _unchanged_result(parsed, conversation, counter, gauge, options)
    if previous is None and goal.trigger is not Trigger.MANUAL:
        warn_if_forgotten(conversation)

    # 4. Decide on a plan and apply it. A plan whose digest would show a secret is made again, masked.
    from clew.compaction.decide import Writer, decide

    writer = Writer(summariser.name, summariser.window_tokens) if summariser else None
    task = _task(conversation, counter, gauge, options, goal)
    judged = yield from _judge_rules(task, writer)
    try:
        outcome = yield from decide(task, writer)
    except (CompactionRefused, BudgetExceeded):
        if goal.trigger is not Trigger.MANUAL and now.budget and Fill.of(now.budget.allotment).fits:
            return now
        raise
    if options.mask_secrets and _shows_secrets(outcome.plan):
        task = _mask_task(task, conversation)
        outcome = yield from decide(task, writer)
    outcome = judged.added_to(outcome) if judged else outcome
    return _compacted_result(now, conversation, outcome, task) if outcome.plan.operations else now


class _ParsedList(NamedTuple):
    parsed: ParsedInput
    conversation: ConversationState
    counter: TokenCounter
    continued: bool
    """The list continues that of the last call."""


def _parse(
    messages: Iterable[Any] | Mapping[str, Any], options: Options, previous: CompactResult | None
) -> _ParsedList:
    """Parse a list as the continuation of the last one, trying its codec first, or from its beginning."""
    conversation = previous.conversation if previous else None
    codec = conversation.record.codec if conversation else None
    wire = wire_named(options.wire) if options.wire else None
    if not isinstance(messages, Mapping | str | bytes | list) and isinstance(messages, Iterable):
        messages = list(messages)  # an iterator can be read only once
    parsed = ParsedInput.of(messages, wire, codec if wire is None or (codec and codec.wire is wire) else None)
    model = model_named(options.model or parsed.model or "unknown")
    counter = _counter(model, conversation)
    conversation = advance(parsed, conversation, counter) if conversation else None
    continued = conversation is not None
    if conversation is None:  # no previous result, or the list is not a continuation of it
        parsed = ParsedInput.of(messages, wire) if codec else parsed
        conversation = _start(parsed, previous, counter)
    conversation.record.counter = model, counter
    return _ParsedList(parsed, conversation, counter, continued)


def _judge_rules(task: CompactionTask, writer: Writer | None) -> Steps[RuleCall | None]:
    """Have the summariser judge rules and apply its judgement; None without one."""
    if writer is None or not rules_are_judged():
        return None
    from clew.compaction.judge import judge_rules

    call = yield from judge_rules(task, writer)
    if call.judgement:
        task.ledger.judge(call.judgement)
    return call


def read_current(items: Sequence[Item], hidden: range, model: str) -> CompactResult:
    """Read a list of which its tool removed a part, without compacting it.

    The ledger and the originals hold every message; the view leaves out those at the indices ``hidden``. The
    messages keep their names. To compact it, pass the messages as one list, with this result as ``previous``.
    """
    model_info = model_named(model)
    parsed = ParsedInput.of([item.message for item in items])
    counter = counter_for(model_info)
    conversation = start(parsed, counter, hidden, [item.id for item in items])
    options = Options(window=NEVER_FULL, model=model)
    return _unchanged_result(parsed, conversation, counter, Gauge(model_info, DEFAULT, NEVER_FULL), options)


# Measure ---------------------------------------------------------------------------------------------


def _start(parsed: ParsedInput, previous: CompactResult | None, counter: TokenCounter) -> ConversationState:
    """Parse a list from its beginning; with a saved result, as compacted as that one was."""
    conversation = start(parsed, counter)
    if previous is not None and previous.saved is not None:
        return restore_conversation(previous.saved, conversation.record, counter) or conversation
    return conversation


def _counter(model: ModelInfo, conversation: ConversationState | None) -> TokenCounter:
    """Return the counter of the last call, which knows the texts so far, if the model is the same."""
    known = conversation.record.counter if conversation else None
    return known[1] if known and known[0] == model else counter_for(model)


def _unchanged_result(
    parsed: ParsedInput,
    conversation: ConversationState,
    counter: TokenCounter,
    gauge: Gauge,
    options: Options,
) -> CompactResult:
    """Return the result without a compaction: the messages as they are, with their measured budget."""
    view = conversation.view
    tokens = {**view.regions, Region.TOOLS: options.fixed_tokens}
    full = view.tokens + options.fixed_tokens >= gauge.policy.warn_at.of(gauge.window.usable_tokens)
    signals: tuple[Signal, ...] = (ANSWERED,) if full and _is_answered(view.items) else ()
    if view.tokens > OVERSIZED_SHARE * gauge.window.usable_tokens:
        signals = (*signals, *oversized_results(view.items, gauge, counter))
    return CompactResult(
        messages=view.sent(conversation.record.entries),
        system=parsed.system_field,
        budget=gauge.measure(tokens, signals, view.state),
        tokens_before=view.tokens,
        tokens_after=view.tokens,
        digest=view.digest,
        conversation=conversation,
    )


ANSWERED = Milestone("the last request was answered")
"""If the window is filling up, the moment between two tasks is better than the middle of the next one."""


def _is_answered(items: Sequence[Item]) -> bool:
    """Whether the newest message is a user request, and the one before it was answered."""
    if len(items) < 2:
        return False
    last, before = items[-1].message, items[-2].message
    asked = last.role is Role.USER and last.origin is Origin.SPOKEN and not any(last.results)
    return asked and before.role is Role.ASSISTANT and not any(before.calls)


def _pays(now: CompactResult, verdict: Compact, conversation: ConversationState, gauge: Gauge) -> bool:
    """Whether a compaction that could wait saves more than it costs, with a warm prompt cache.

    Shortening a result that was never sent always does.
    """
    if verdict.must or verdict.trigger is Trigger.OVERSIZED or now.budget is None:
        return True
    outlook = Outlook(
        Fill.of(now.budget.allotment).used_tokens,
        Cache(gauge.model, age_seconds=0.0),
        requests_to_come(conversation.view.replies),
    )
    choice = gauge.weigh(now.budget.allotment, verdict, outlook, with_model=False)
    return choice.move is not CostMove.WAIT


class _Goal(NamedTuple):
    target_tokens: int
    trigger: Trigger
    reason: str
    most_tokens: int | None = None
    """The size up to which the target may be raised."""


def _task(
    conversation: ConversationState, counter: TokenCounter, gauge: Gauge, options: Options, goal: _Goal
) -> CompactionTask:
    """Return the task of a compaction: the view to shrink, and everything known about it."""
    from clew.compaction.ledger_claims import MandatoryContent
    from clew.compaction.task import CompactionTask

    record, view = conversation.record, conversation.view
    digest = view.digest
    number = int(digest.id[1:]) if digest and digest.id[1:].isdecimal() else 0
    return CompactionTask(
        view=tuple(view.items),
        ledger=record.ledger,
        counter=counter,
        target_tokens=goal.target_tokens,
        originals=record.originals.get,
        sizes=tuple(view.sizes),
        most_tokens=goal.most_tokens,
        shown=(digest.id, digest) if digest else None,
        carried=carried_by(digest, record.ledger) if digest and view.recovered else MandatoryContent(),
        digest_id=f"d{number + 1}",
        keep=gauge.keep,
        focus=options.focus,
        trigger=goal.trigger,
        reason=goal.reason,
        wire=record.codec.wire,
    )


def _goal(
    now: CompactResult, conversation: ConversationState, gauge: Gauge, options: Options
) -> _Goal | None:
    """Return the goal set by the caller or the window; None if nothing is to be done."""
    view = conversation.view
    if options.target_tokens is not None:
        target = options.target_tokens + sum(view.sizes[: fixed_prefix(view.items)])
        reason = f"down to {options.target_tokens:,} tokens, as asked"
        return _Goal(target, Trigger.MANUAL, reason) if view.tokens > target else None
    if now.budget is None:
        return None
    verdict = now.budget.verdict
    if isinstance(verdict, Stop) and not verdict.fits:
        raise BudgetExceeded(verdict.why)
    if not isinstance(verdict, Compact) or not _pays(now, verdict, conversation, gauge):
        return None
    target, most = verdict.target_tokens, gauge.most_left(Fill.of(now.budget.allotment).fixed_tokens)
    if verdict.trigger is not Trigger.OVERSIZED:
        unread_tokens = sum(view.sizes[len(view.items) - unread_count(view.items) :])
        target = with_unread(target, unread_tokens, most)
    other = options.fixed_tokens
    return _Goal(target - other, verdict.trigger, verdict.why, most - other)


# Compact ---------------------------------------------------------------------------------------------


def _shows_secrets(plan: Plan) -> bool:
    """Whether the messages that a plan inserts show a secret; what they leave out is not searched."""
    from clew.compaction.plan.codec import shown_messages
    from clew.secrets import find_in_message

    return any(
        not secret.sealed for _, message in shown_messages(plan) for secret in find_in_message(message)
    )


def _mask_task(task: CompactionTask, conversation: ConversationState) -> CompactionTask:
    """Return the same task with all secrets masked."""
    from clew.secrets import mask_message

    digest = conversation.view.digest
    content = {name: mask_message(message) for name, message in conversation.record.originals.items()}
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


def _compacted_result(
    now: CompactResult, conversation: ConversationState, outcome: DecidedCompaction, task: CompactionTask
) -> CompactResult:
    """Return the result after a compaction: the new view, its messages, and how it was decided."""
    from clew.compaction.plan.plan import apply

    plan, record = outcome.plan, conversation.record
    view = conversation.view.replaced(apply(plan, conversation.view.items), record.codec, task.counter)
    view.digest = plan.digests[-1] if plan.digests else view.digest
    view.state = view.state.ended(
        Trigger(plan.trigger), plan.tokens_before, plan.tokens_after, plan.target_tokens
    )
    view.find_marks(record.entries)
    return replace(
        now,
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
        conversation=ConversationState(record, conversation.entries, view, len(view.slots), len(view.items)),
    )


# A warning for callers that forget previous= --------------------------------------------------------

KEPT = 32
"""How many lists that were compacted without ``previous=`` are remembered; chosen by hand."""
ADVICE = (
    "clew.compact was given a longer version of a list that it compacted before, without previous=: every "
    "call compacts from the beginning and the prompt cache is lost. Pass the last result as previous=, or "
    "use clew.Compactor"
)
_seen: OrderedDict[int, list[int]] = OrderedDict()
"""The message sizes of lists that were compacted without ``previous=``, by a hash of their first message."""
_lock = Lock()


def warn_if_forgotten(conversation: ConversationState) -> None:
    """Warn if a list begins with one that was compacted before; lists are compared by message sizes."""
    view = conversation.view
    if view.digest is not None or not view.items:
        return  # the caller keeps the compacted list, whose digest carries the state
    key = hash((view.items[0].message.role, view.items[0].message.text[:1_000]))
    with _lock:
        before = _seen.pop(key, None)
        _seen[key] = list(view.sizes)
        while len(_seen) > KEPT:
            _seen.popitem(last=False)
    if before and len(before) < len(view.sizes) and view.sizes[: len(before)] == before:
        warnings.warn(ADVICE, UserWarning, stacklevel=8)


def forget() -> None:
    """Clear the remembered lists, as in a new process."""
    with _lock:
        _seen.clear()
