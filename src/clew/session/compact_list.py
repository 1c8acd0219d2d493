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
from typing import Any, Unpack

from clew.budget import Cache, Compact, Milestone, Move, Region, Stop, Trigger
from clew.compaction.decide import Job, Outcome, Writer, decide
from clew.compaction.plan import Plan
from clew.compaction.plan.codec import shown_messages
from clew.compaction.plan.plan import apply
from clew.compaction.propose.brief import MandatoryContent
from clew.compaction.propose.tail import leading_system
from clew.errors import BudgetExceeded, InputError
from clew.ledger.ledger import Ledger
from clew.message import Item, Origin, Role
from clew.providers import wire_named
from clew.providers.model import AsyncModel, Model, Steps
from clew.secrets import mask_message
from clew.session.compact_session import Wish
from clew.session.conversation import Carry, advance, start
from clew.session.fit import Gauge, with_unread
from clew.session.parsed_input import ParsedInput, carried_by, restore
from clew.session.result import CompactOptions, CompactResult, Options, restored
from clew.session.summariser import answered, answered_async
from clew.tokens import TokenCounter, counter_for, model_named

KEPT = 32
"""How many lists that were compacted without ``previous=`` are remembered; chosen by hand."""
ADVICE = (
    "clew.compact was given a longer version of a list that it compacted before, without previous=: every "
    "call compacts from the beginning and the prompt cache is lost. Pass the last result as previous=, or "
    "use clew.Compactor"
)
_seen: OrderedDict[int, list[int]] = OrderedDict()
_lock = Lock()


def warn_if_forgotten(carry: Carry) -> None:
    """Warn if a list begins with one that was compacted before; lists are compared by message sizes."""
    view = carry.view
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


def compact(
    messages: Iterable[Any] | Mapping[str, Any],
    window: int | None = None,
    *,
    previous: CompactResult | None = None,
    summariser: Model | None = None,
    **options: Unpack[CompactOptions],
) -> CompactResult:
    """Make a message list fit a window; while there is room, return it unchanged.

    ``messages`` is a provider's list (or a whole request body) as any SDK takes it, a framework's message
    objects, or a list of ``clew.Message``. Call it before every request::

        fitted = clew.compact(messages, window=200_000, previous=fitted)
        reply = client.messages.create(messages=fitted.messages, ...)
        messages.append({"role": "assistant", "content": reply.content})

    ``options`` are the fields of ``Options``: ``target_tokens``, ``model``, ``focus``, ``policy``, ….
    ``clew.Compactor`` keeps the last result for you.
    """
    steps = _compacting(messages, _options(window, options), previous, summariser)
    return answered(steps, summariser)


async def compact_async(
    messages: Iterable[Any] | Mapping[str, Any],
    window: int | None = None,
    *,
    previous: CompactResult | None = None,
    summariser: AsyncModel | None = None,
    **options: Unpack[CompactOptions],
) -> CompactResult:
    """Do the same with an asynchronous summariser, in a thread so that the event loop is not blocked."""
    steps = _compacting(messages, _options(window, options), previous, summariser)
    return await answered_async(steps, summariser)


def _options(window: int | None, given: Mapping[str, Any]) -> Options:
    unknown = sorted(given.keys() - Options.__dataclass_fields__.keys())
    if unknown:
        there = ", ".join(Options.__dataclass_fields__)
        raise InputError(f"clew.compact has no option {', '.join(unknown)}", f"there are {there}")
    return Options(window=window, **given)


def _compacting(
    messages: Iterable[Any] | Mapping[str, Any],
    options: Options,
    previous: CompactResult | None,
    summariser: Model | AsyncModel | None,
) -> Steps[CompactResult]:
    carry = previous.carry if previous else None
    known = carry.record.codec if carry else None
    wire = wire_named(options.wire) if options.wire else None
    if not isinstance(messages, Mapping | str | bytes) and isinstance(messages, Iterable):
        messages = list(messages)  # an iterator can be read only once
    parsed = ParsedInput.of(messages, wire, known if wire is None or (known and known.wire is wire) else None)
    model = model_named(options.model or parsed.model or "unknown")
    counter, gauge = counter_for(model), Gauge(model, options.policy, options.window)
    found = advance(parsed, carry, counter) if carry else None
    if found is None:
        parsed = ParsedInput.of(messages, wire)
        found = _started(parsed, previous, counter)
    carry = found
    now = _measured(parsed, carry, gauge, options)
    wish = _wish(now, carry, gauge, options)
    if wish is None:
        return now
    if carry.record.changed_at(carry.entries, whole=True) < carry.entries:
        carry = advance(parsed, carry, counter, thorough=True) or start(parsed, counter)
        now = _measured(parsed, carry, gauge, options)
    if previous is None and wish.trigger is not Trigger.MANUAL:
        warn_if_forgotten(carry)
    writer = Writer(summariser.name, summariser.window_tokens) if summariser else None
    job = _job(carry, counter, gauge, wish)
    outcome = yield from decide(job, writer)
    if options.mask_secrets and _shows_secrets(outcome.plan):
        outcome = yield from decide(_masked(job, carry), writer)
    return _changed(now, carry, outcome, wish, counter) if outcome.plan.operations else now


# Measure ---------------------------------------------------------------------------------------------


def _started(parsed: ParsedInput, previous: CompactResult | None, counter: TokenCounter) -> Carry:
    """Parse a list from its beginning; with a saved result, as compacted as that one was."""
    carry = start(parsed, counter)
    if previous is not None and previous.saved is not None:
        return restored(previous.saved, carry.record, counter) or carry
    return carry


def _measured(parsed: ParsedInput, carry: Carry, gauge: Gauge, options: Options) -> CompactResult:
    view = carry.view
    tokens = {**view.regions, Region.TOOLS: options.fixed_tokens}
    full = view.tokens + options.fixed_tokens >= gauge.policy.warn_at.of(gauge.window.usable_tokens)
    signals = (ANSWERED,) if full and _is_answered(view.items) else ()
    return CompactResult(
        messages=view.sent(carry.record.entries),
        system=parsed.system_field,
        budget=gauge.measure(tokens, signals, view.state),
        tokens_before=view.tokens,
        tokens_after=view.tokens,
        digest=view.digest,
        carry=carry,
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


def _pays(now: CompactResult, verdict: Compact, carry: Carry, gauge: Gauge) -> bool:
    """Whether a compaction that could wait saves more than it costs, with a warm prompt cache."""
    if verdict.must or now.budget is None:
        return True
    made = sum(item.message.role is Role.ASSISTANT for item in carry.view.items)
    cache = Cache(gauge.model, age_seconds=0.0)
    choice = gauge.weigh(now.budget.allotment, verdict, cache, made, with_model=False)
    return choice.move is not Move.WAIT


def _wish(now: CompactResult, carry: Carry, gauge: Gauge, options: Options) -> Wish | None:
    """Return the goal set by the caller or by the window; None if nothing is to be done."""
    view = carry.view
    if options.target_tokens is not None:
        target = options.target_tokens + sum(view.sizes[: leading_system(view.items)])
        reason = f"down to {options.target_tokens:,} tokens, as asked"
        return Wish(target, Trigger.MANUAL, reason, options.focus) if view.tokens > target else None
    verdict = now.budget.verdict if now.budget else None
    if isinstance(verdict, Stop) and not verdict.fits:
        raise BudgetExceeded(verdict.why)
    if not isinstance(verdict, Compact) or not _pays(now, verdict, carry, gauge):
        return None
    usable = gauge.window.usable_tokens
    target = with_unread(verdict.target_tokens, view.items, view.sizes, usable) - options.fixed_tokens
    return Wish(target, verdict.trigger, verdict.why, options.focus)


# Compact ---------------------------------------------------------------------------------------------


def _job(carry: Carry, counter: TokenCounter, gauge: Gauge, wish: Wish) -> Job:
    record, view = carry.record, carry.view
    digest = view.digest
    number = int(digest.id[1:]) if digest and digest.id[1:].isdecimal() else 0
    return Job(
        view=tuple(view.items),
        ledger=record.ledger,
        counter=counter,
        target_tokens=wish.target_tokens,
        originals=record.originals.get,
        sizes=tuple(view.sizes),
        shown=(digest.id, digest) if digest else None,
        carried=carried_by(digest, record.ledger) if digest and view.recovered else MandatoryContent(),
        digest_id=f"d{number + 1}",
        keep=gauge.keep,
        focus=wish.focus,
        trigger=wish.trigger.value,
        reason=wish.reason,
        wire=record.codec.wire,
    )


def _shows_secrets(plan: Plan) -> bool:
    """Whether the messages that a plan inserts contain a secret."""
    return any(mask_message(message) is not message for _, message in shown_messages(plan))


def _masked(job: Job, carry: Carry) -> Job:
    """Return the same task with all secrets masked."""
    digest = carry.view.digest
    said = {name: mask_message(message) for name, message in carry.record.originals.items()}
    ledger = Ledger()
    for name, message in said.items():
        if digest and name == digest.id:
            restore(ledger, digest)
        else:
            ledger.add(Item(name, message))
    items = tuple(Item(item.id, mask_message(item.message)) for item in job.view)
    sizes = tuple(job.counter.count(item.message) for item in items)
    return replace(job, view=items, sizes=sizes, originals=said.get, ledger=ledger)


def _changed(
    now: CompactResult, carry: Carry, outcome: Outcome, wish: Wish, counter: TokenCounter
) -> CompactResult:
    plan, record = outcome.plan, carry.record
    view = carry.view.replaced(apply(plan, carry.view.items), record.codec, counter)
    view.digest = plan.digests[-1] if plan.digests else view.digest
    view.state = view.state.ended(wish.trigger, plan.tokens_before, plan.tokens_after, plan.target_tokens)
    view.find_marks(record.entries)
    return replace(
        now,
        messages=view.sent(record.entries),
        plan=plan,
        report=outcome.report,
        attempts=outcome.attempts,
        usage=outcome.usage,
        calls=outcome.calls,
        tokens_after=plan.tokens_after,
        digest=view.digest,
        carry=Carry(record, carry.entries, view, len(view.slots), len(view.items)),
    )
