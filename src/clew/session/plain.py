"""``clew.compact``: a plain message list in, a plain list out, for anybody's loop.

Nothing is stored. Messages are numbered by their place (``m1``, ``m2``, …); a digest of an earlier call is
known by its text and keeps the numbers it covers, so lines lead to the same turns from call to call.

Hand the last result to the next call (``after=``) and it goes on from there: with the list that it returned,
or with the whole list that the caller keeps, which then stays compacted as it was until the window asks for
more. Without it, what the digest tells is read back from its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clew.budget import FRESH, Compact, Region, Stop, TokenBudget, Trigger
from clew.errors import BudgetExceeded, InputError
from clew.ladder.brief import Brief
from clew.ladder.tail import leading_system
from clew.ledger.ledger import Ledger
from clew.message import Item, Message
from clew.plan import Plan
from clew.plan.apply import apply
from clew.plan.codec import shown_messages
from clew.ports import AsyncModel, Model, Steps
from clew.secrets import mask_message
from clew.session.asking import answered, answered_async
from clew.session.compacting import Wish
from clew.session.condensed import Condensed, Counted, Options
from clew.session.engine import Job, Outcome, Writer, decide
from clew.session.fit import Gauge, by_region
from clew.session.given import NOTHING, Given, unchanged
from clew.session.recover import carried_by, numbered, restore
from clew.tokens import TokenCounter, counter_for, model_named
from clew.wire import wire_named


def compact(
    messages: Iterable[Any] | Mapping[str, Any],
    window: int | None = None,
    *,
    after: Condensed | None = None,
    summariser: Model | None = None,
    **options: Any,  # noqa: ANN401  # the fields of Options
) -> Condensed:
    """Make a message list fit a window; returns at once, unchanged, while there is room.

    ``messages`` is a provider's list (or a whole request body) as any SDK takes it, or a list of
    ``clew.Message``. Call it before every request::

        fitted = clew.compact(messages, window=200_000, after=fitted)
        reply = client.messages.create(messages=fitted.messages, ...)
        messages.append(reply)

    ``options`` are the fields of ``Options``: ``target_tokens``, ``model``, ``focus``, ``policy``, ….
    """
    steps = _condensing(messages, _options(window, options), after, summariser)
    return answered(steps, summariser)


async def compact_async(
    messages: Iterable[Any] | Mapping[str, Any],
    window: int | None = None,
    *,
    after: Condensed | None = None,
    summariser: AsyncModel | None = None,
    **options: Any,  # noqa: ANN401  # the fields of Options
) -> Condensed:
    """Do the same with a summariser that is awaited."""
    steps = _condensing(messages, _options(window, options), after, summariser)
    return await answered_async(steps, summariser)


def _options(window: int | None, given: Mapping[str, Any]) -> Options:
    unknown = sorted(given.keys() - Options.__dataclass_fields__.keys())
    if unknown:
        there = ", ".join(Options.__dataclass_fields__)
        raise InputError(f"clew.compact has no option {', '.join(unknown)}", f"there are {there}")
    return Options(window=window, **given)


def _condensing(
    messages: Iterable[Any] | Mapping[str, Any],
    options: Options,
    after: Condensed | None,
    summariser: Model | AsyncModel | None,
) -> Steps[Condensed]:
    known = unchanged(after.reads) if after else NOTHING
    given = whole = Given.read(messages, wire_named(options.wire) if options.wire else None, known)
    model = model_named(options.model or given.model or "unknown")
    held = whole.entries
    if after is not None and _begins(held, after.given) and not _begins(held, after.messages):
        given = whole.after(after.given, after.messages, known)  # the caller keeps the whole list
    counter, gauge = counter_for(model), Gauge(model, options.policy, options.window)
    now = _standing(given, counter, after)
    reads = {**whole.reads, **given.reads}
    now = replace(now, given=held, reads=reads, budget=_measured(now, gauge, options))
    wish = _wish(now, options)
    if wish is None:
        return now
    writer = Writer(summariser.name, summariser.window_tokens) if summariser else None
    outcome = yield from decide(_job(now, counter, gauge, wish), writer)
    if options.mask_secrets and _shows_secrets(outcome.plan):
        outcome = yield from decide(_job(_masked(now, counter), counter, gauge, wish), writer)
    return _changed(now, given, outcome, wish) if outcome.plan.operations else now


# How things stand ------------------------------------------------------------------------------------


def _standing(given: Given, counter: TokenCounter, after: Condensed | None) -> Condensed:
    """Return the list as it is, with all that is known about it."""
    known = after if after is not None and _begins(given.entries, after.messages) else None
    read = (*given.system, *given.messages)
    before = tuple(map(_as_held, known.items, read)) if known else ()
    last = max((int(item.id[1:]) for item in before if item.id.startswith("m")), default=0)
    fresh, digest = numbered(read[len(before) :], last)
    ledger = known.ledger.copy() if known else Ledger()
    for item in fresh:
        if digest and item.id == digest.id:
            restore(ledger, digest)
        else:
            ledger.add(item)
    items = (*before, *fresh)
    counted = _counted(items, counter, known)
    sizes = tuple([size for _, size in counted.values()])
    tokens = sum(sizes)
    return Condensed(
        messages=given.entries,
        system=given.system_field,
        wire=given.wire,
        tokens_before=tokens,
        tokens_after=tokens,
        items=items,
        sizes=sizes,
        counted=counted,
        counted_by=counter.family,
        ledger=ledger,
        digest=known.digest if known else digest,
        recovered=known.recovered if known else digest is not None,
        originals={**(known.originals if known else {}), **{item.id: item.message for item in fresh}},
        state=known.state if known else FRESH,
    )


def _as_held(item: Item, read: Message) -> Item:
    """Return a message that is known from an earlier call as the caller holds it now."""
    if read.native is None or read.native is item.message.native:
        return item
    return Item(item.id, replace(item.message, native=read.native))


def _counted(items: Iterable[Item], counter: TokenCounter, known: Condensed | None) -> Counted:
    """Return the tokens of messages; of those that were counted before for such a model, what was found."""
    before = known.counted if known and known.counted_by == counter.family else {}
    found: dict[str, tuple[Message, int]] = {}
    for name, message in items:
        was = before.get(name)
        found[name] = was if was and was[0] is message else (message, counter.count(message))
    return found


def _begins(entries: Sequence[Any], known: Sequence[Any]) -> bool:
    """Tell whether a list begins with what was known."""
    return len(entries) >= len(known) and all(
        old is new or old == new for old, new in zip(known, entries, strict=False)
    )


def _measured(now: Condensed, gauge: Gauge, options: Options) -> TokenBudget:
    tokens = {Region.TOOLS: options.fixed_tokens, **by_region(now.items, now.sizes)}
    return gauge.measure(tokens, state=now.state)


def _wish(now: Condensed, options: Options) -> Wish | None:
    """Return what is to be done: what was asked for, or what the window asks for."""
    if options.target_tokens is not None:
        target = options.target_tokens + sum(now.sizes[: leading_system(now.items)])
        reason = f"down to {options.target_tokens:,} tokens, as asked"
        return Wish(target, Trigger.MANUAL, reason, options.focus) if now.tokens_before > target else None
    verdict = now.budget.verdict if now.budget else None
    if isinstance(verdict, Stop) and not verdict.fits:
        raise BudgetExceeded(verdict.why)
    if not isinstance(verdict, Compact):
        return None
    return Wish(verdict.target_tokens - options.fixed_tokens, verdict.trigger, verdict.why, options.focus)


def _job(now: Condensed, counter: TokenCounter, gauge: Gauge, wish: Wish) -> Job:
    digest = now.digest
    number = int(digest.id[1:]) if digest and digest.id[1:].isdecimal() else 0
    return Job(
        view=now.items,
        ledger=now.ledger,
        counter=counter,
        target_tokens=wish.target_tokens,
        originals=now.originals.get,
        sizes=now.sizes,
        shown=(digest.id, digest) if digest else None,
        carried=carried_by(digest, now.ledger) if digest and now.recovered else Brief(),
        digest_id=f"d{number + 1}",
        keep=gauge.keep,
        focus=wish.focus,
        trigger=wish.trigger.value,
        reason=wish.reason,
        wire=now.wire,
    )


def _shows_secrets(plan: Plan) -> bool:
    """Tell whether what a plan would put in place says a secret; most do not, and cost no more than this."""
    return any(mask_message(message) is not message for _, message in shown_messages(plan))


def _masked(now: Condensed, counter: TokenCounter) -> Condensed:
    """Return how things stand as if no secret had ever been said."""
    said = {name: mask_message(message) for name, message in now.originals.items()}
    ledger = Ledger()
    for name, message in said.items():
        if now.digest and name == now.digest.id:
            restore(ledger, now.digest)
        else:
            ledger.add(Item(name, message))
    items = tuple(Item(item.id, mask_message(item.message)) for item in now.items)
    sizes = tuple(counter.count(item.message) for item in items)
    return replace(now, items=items, sizes=sizes, originals=said, ledger=ledger)


def _changed(now: Condensed, given: Given, outcome: Outcome, wish: Wish) -> Condensed:
    plan = outcome.plan
    items = tuple(apply(plan, now.items))
    system = len(given.system)
    return replace(
        now,
        messages=given.render([item.message for item in items[system:]]),
        plan=plan,
        report=outcome.report,
        attempts=outcome.attempts,
        usage=outcome.usage,
        calls=outcome.calls,
        tokens_after=plan.tokens_after,
        items=items,
        digest=plan.digests[-1] if plan.digests else now.digest,
        recovered=now.recovered,
        state=now.state.ended(wish.trigger, plan.tokens_before, plan.tokens_after, plan.target_tokens),
    )
