"""Run the compaction for ``clew compact``: of a session in a log, or of a list that is only read.

``compact_stored`` compacts a session of clew's log, ``compact_listed`` the messages of a file, of which
nothing is written. Both return a ``CompactReport``, which ``report.py`` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from clew.budget import DEFAULT, Asker, Cache, Compact, CompactionPrice, CompactionRequested, Policy, Stop
from clew.cli.stored import Log
from clew.cli.text import count
from clew.compaction.plan import Digest
from clew.compaction.plan.plan import apply
from clew.errors import BudgetExceeded, CompactionRefused, InputError, NothingToGain
from clew.ledger.ledger import Ledger
from clew.log import RESUME, TOOL_COMPACTION
from clew.log.store import MemoryStore
from clew.message import Item, fixed_prefix, system_prefix
from clew.providers import WIRES, Converted, Wire, convert, wire_named
from clew.session import CompactResult, DecidedCompaction, Session, compact
from clew.session.gauge import Gauge, by_region, price_of
from clew.session.list_call import NEVER_FULL, read_current
from clew.tokens import UNKNOWN, ModelInfo, TokenCounter, counter_for, model_named
from clew.transcripts import Transcript

if TYPE_CHECKING:
    from clew.cli.compact import WatchedModel

BISECTIONS = 3
"""Halvings after which the smallest target that works is known to an eighth: enough for a hint."""
CORRECTIONS = 3
"""Trials to fit the format in which a list is sent; the second nearly always does."""
DEFAULT_WIRE = "anthropic"
Result = TypeVar("Result")
Trial: TypeAlias = Callable[[int], Sequence[Item]]
"""Compacts to a target without a model, to find out whether it fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactRequest:
    """The options of ``clew compact``."""

    target_tokens: int | None = None
    """Tokens without the system prompt; None for half of the list, or less if the window is small."""
    window: int | None = None
    focus: str | None = None
    messages: str | None = None
    """A range of messages, in place of a size."""
    keep: int | None = None
    """How many of the last messages to keep verbatim."""
    wire: str | None = None
    summariser: WatchedModel | None = None
    dry_run: bool = False
    whole: bool = False
    """Take the whole conversation, not what the tool's own compactions left of it."""

    @property
    def policy(self) -> Policy:
        """Return the default policy with the options applied."""
        return replace(DEFAULT, keep_messages=self.keep) if self.keep else DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """The result: the view before and after, and how it was made."""

    name: str
    """The session as named on the command line."""
    before: tuple[Item, ...]
    after: tuple[Item, ...]
    ledger: Ledger
    counter: TokenCounter
    window: int
    wire: Wire
    outcome: DecidedCompaction | None = None
    """None if compacting would save nothing."""
    digest: Digest | None = None
    """The digest in the view, if any."""
    dry_run: bool = False
    undoable: bool = False
    """Whether it is recorded in clew's log."""
    compaction_name: str | None = None
    """Its name in the log."""
    model: ModelInfo = UNKNOWN
    with_model: bool = False
    """Whether a model writes the digest."""
    part: str = ""
    """A sentence for people: which part of a session that was compacted before was taken; else empty."""
    is_current: bool = False
    """Whether only what its tool's compactions left was taken."""

    def tokens(self, items: Iterable[Item]) -> int:
        """Return the tokens of messages."""
        return sum(self.counter.count(item.message) for item in items)

    @property
    def kept(self) -> int:
        """Return how many of the last messages were kept verbatim."""
        same = zip(reversed(self.before), reversed(self.after), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], same))

    @property
    def price(self) -> CompactionPrice:
        """Return the cost in prompt cache, if the cache has the view as it was."""
        cache = Cache(self.model, age_seconds=0.0)
        return price_of(self.before, self.after, self.counter, cache, with_model=self.with_model)

    @property
    def system_tokens(self) -> int:
        """Return the tokens of the system prompt, which is never compacted."""
        return self.tokens(self.before[: fixed_prefix(self.before)])

    def converted(self) -> Converted:
        """Return the view in the provider format to write."""
        return convert([item.message for item in self.after], self.wire)


def no_digest(report: CompactReport) -> str:
    """Return why there is no digest."""
    if report.outcome is None:
        return "no digest: nothing was compacted"
    return "no digest: all messages fit, the older ones with their tool output shortened"


# A session in a log ----------------------------------------------------------------------------------


def compact_stored(log: Log, options: CompactRequest) -> CompactReport:
    """Compact a session of a log; a dry run appends nothing."""
    session = Session.open(
        log.name,
        log.store,
        workspace=log.ctx.workspace,
        window=options.window,
        policy=options.policy,
        summariser=options.summariser,
    )
    if session.is_off:
        advice = f"`clew on {log.name}` switches it on"
        raise InputError(f"compaction of {log.name!r} is switched off", advice)
    if options.whole and session.trace():
        raise InputError("--whole cannot compact what was compacted", f"first `clew undo {log.name} --all`")
    if options.whole and _follows_tool(log):
        advice = "`clew compact FILE --whole` takes all of a file"
        raise InputError("the log continues from what its tool left", advice)
    part = _stored_part(log, session)
    wire = wire_named(options.wire or _own_wire(log.name.partition(":")[0]))
    return _compact_session(session, log.name, options, wire, part, undoable=log.own)


def _compact_session(
    session: Session, name: str, options: CompactRequest, wire: Wire, part: str, *, undoable: bool
) -> CompactReport:
    """Compact a session of the log (or only preview it) and return what is printed about it."""
    before = tuple(session.view())

    def trial(target: int) -> Sequence[Item]:
        preview = session.preview(target_tokens=target, focus=options.focus)
        return apply(preview.plan, before) if preview else before

    target, reason = options.target_tokens, None
    if target is None and options.messages is None:
        target, reason = _default_target(before, session.counter, session.gauge, options)
    elif target is not None:
        reason = f"down to {target:,} tokens, as asked"
        target = _target_as_sent(target, trial, wire, session.counter)
    asked = target is not None or options.messages is not None
    outcome = _compact_or_unchanged(
        options, lambda: _stored_outcome(session, target, options, reason) if asked else None, trial
    )
    after = apply(outcome.plan, before) if outcome and options.dry_run else session.view()
    digests = [compaction.digest for compaction in session.trace() if compaction.digest]
    digests += outcome.plan.digests if outcome else ()
    shown = {item.id for item in after}  # an undone digest stays on record
    return CompactReport(
        name=name,
        before=before,
        after=tuple(after),
        ledger=session.ledger,
        counter=session.counter,
        window=session.gauge.window.tokens,
        wire=wire,
        outcome=outcome,
        digest=next((digest for digest in reversed(digests) if digest.id in shown), None),
        dry_run=options.dry_run,
        undoable=undoable and outcome is not None and not options.dry_run,
        compaction_name=session.trace()[-1].name if outcome and not options.dry_run else None,
        model=session.gauge.model,
        with_model=options.summariser is not None,
        part=part,
    )


def _stored_part(log: Log, session: Session) -> str:
    """Return which part of a session of a log is compacted, if it was compacted before."""
    if created := len(session.trace()):
        return f"what its model sees now, after {count(created, 'compaction')}; `clew undo` restores the rest"
    by_tool = sum(1 for _ in log.store.read(log.ctx, kinds=[TOOL_COMPACTION.name]))
    if by_tool and _follows_tool(log):
        return f"what its model sees after {count(by_tool, 'compaction')} of its tool"
    return f"the whole conversation; its tool compacted it {count(by_tool, 'time')}" if by_tool else ""


def _follows_tool(log: Log) -> bool:
    """Return True if the view of an imported session begins with what its tool left."""
    return any(True for _ in log.store.read(log.ctx, kinds=[RESUME.name]))


def _stored_outcome(
    session: Session, target: int | None, options: CompactRequest, reason: str | None
) -> DecidedCompaction | None:
    """Compact a session, or preview it; ``reason`` is what a person asked for, the target what that needs."""
    if options.dry_run:
        outcome = session.preview(target_tokens=target, focus=options.focus, messages=options.messages)
        return outcome if outcome and outcome.plan.operations else None
    return session.compact(
        target_tokens=target, focus=options.focus, messages=options.messages, reason=reason
    )


# A list that is only read ----------------------------------------------------------------------------


def read_list(transcript: Transcript, *, current: bool) -> CompactResult:
    """Read a session without compacting it: its numbered messages, ledger, and digest if it holds one.

    With ``current`` the view is what its tool's model sees now; rules and goal are of the whole session.
    """
    return read_current(*_parts(transcript, current), transcript.model or "unknown")


def _parts(transcript: Transcript, current: bool) -> tuple[list[Item], range]:
    """Return the messages, and the indices of those that are only read and not compacted.

    The prompt comes first, as in every request: its rules stay in view and are not pinned.
    """
    if not current:
        return [Item(f"m{n}", message) for n, message in enumerate(transcript.full(), start=1)], range(0)
    earlier, items = transcript.earlier_items(), transcript.current_items()
    prompt = system_prefix([item.message for item in items])
    return [*items[:prompt], *earlier, *items[prompt:]], range(prompt, prompt + len(earlier))


def compact_listed(name: str, transcript: Transcript, options: CompactRequest) -> CompactReport:
    """Compact the list in a file; nothing is written."""
    model = transcript.model or "unknown"
    model_info, counter = model_named(model), counter_for(model)
    compacted = len(transcript.boundaries)
    # A range is given in the numbers of the whole conversation, as `clew show` and `clew expand` print them.
    is_current = compacted > 0 and not options.whole and options.messages is None
    items, hidden = _parts(transcript, is_current)
    wire = wire_named(options.wire or _own_wire(transcript.format))
    part = _listed_part(transcript, counter, is_current) if compacted else ""
    if options.messages is not None:
        session = Session.open(
            name, MemoryStore(), model=model, policy=options.policy, summariser=options.summariser
        )
        session.add(*(item.message for item in items))
        return _compact_session(session, name, options, wire, part, undoable=False)
    base = read_current(items, hidden, model)
    result = _compact_list(items, base, model, wire, options) or base
    outcome = None
    if result.plan and result.report:
        outcome = DecidedCompaction(result.plan, result.report, result.attempts, result.usage, result.calls)
    return CompactReport(
        name=name,
        before=base.items,
        after=result.items,
        ledger=base.ledger,
        counter=counter,
        window=options.window or model_info.window_tokens,
        wire=wire,
        outcome=outcome,
        digest=result.digest,
        dry_run=options.dry_run,
        model=model_info,
        with_model=options.summariser is not None,
        part=part,
        is_current=is_current,
    )


def _compact_list(
    items: Sequence[Item], base: CompactResult, model: str, wire: Wire, options: CompactRequest
) -> CompactResult | None:
    """Compact the messages of a list that was read as ``base``; None if they stay as they are."""
    messages = [item.message for item in items]

    @cache  # the last trial is often the final result
    def compacted(target: int, summariser: WatchedModel | None) -> CompactResult:
        return compact(
            messages,
            previous=base,
            summariser=summariser,
            target_tokens=target,
            model=model,
            focus=options.focus,
            policy=options.policy,
        )

    def trial(target: int) -> Sequence[Item]:
        return compacted(target, None).items

    target, counter = options.target_tokens, counter_for(model)
    if target is None:
        gauge = Gauge(model_named(model), options.policy, options.window)
        target, _ = _default_target(base.items, counter, gauge, options)
    else:
        target = _target_as_sent(target, trial, wire, counter)
    summariser = None if options.dry_run else options.summariser
    return _compact_or_unchanged(
        options, lambda: None if target is None else compacted(target, summariser), trial
    )


def _listed_part(transcript: Transcript, counter: TokenCounter, is_current: bool) -> str:
    """Return which part of a session that its tool compacted is taken, and what the other one is."""
    times = count(len(transcript.boundaries), "compaction")
    if not is_current:
        return f"the whole conversation, as if its tool's {times} had not happened"
    now, whole = counter.count_all(transcript.current()), counter.count_all(transcript.full())
    return f"what its model sees after {times} of its tool: {now:,} of {whole:,} tokens; --whole takes all"


def _default_target(
    items: Sequence[Item], counter: TokenCounter, gauge: Gauge, options: CompactRequest
) -> tuple[int | None, str]:
    """Return the default target, what the window requires or half of the list, and why.

    None if it fits already.
    """
    sizes = [counter.count(item.message) for item in items]
    signals = () if options.window else (CompactionRequested(Asker.USER),)
    verdict = gauge.measure(by_region(items, sizes), signals).verdict
    if isinstance(verdict, Stop):
        raise BudgetExceeded(verdict.why)
    if not isinstance(verdict, Compact):
        return None, ""
    return verdict.target_tokens - sum(sizes[: fixed_prefix(items)]), verdict.why


def _compact_or_unchanged(
    options: CompactRequest, compaction: Callable[[], Result | None], trial: Trial
) -> Result | None:
    """Compact; return None for a list that cannot get smaller, if neither target nor window was given.

    The error for a target that is too small names one that works, which trials find.
    """
    try:
        return compaction()
    except BudgetExceeded as refusal:
        if options.target_tokens and not isinstance(refusal, NothingToGain):
            enough = _smallest_target(options.target_tokens, trial)
            raise type(refusal)(refusal.detail, f"give at least about {enough:,}") from refusal
        if options.target_tokens or options.window:
            raise
        return None


# Finding a target ----------------------------------------------------------------------------------------


def _smallest_target(target: int, trial: Trial) -> int:
    """Return a target near the smallest one that works, by bisection."""
    small, enough = target, target * 2
    while enough < NEVER_FULL and not _fits(enough, trial):  # a target above the list's size always works
        small, enough = enough, enough * 2
    for _ in range(BISECTIONS):
        middle = (small + enough) // 2
        small, enough = (small, middle) if _fits(middle, trial) else (middle, enough)
    return enough


def _fits(target: int, trial: Trial) -> bool:
    try:
        trial(target)
    except (BudgetExceeded, CompactionRefused):
        return False
    return True


def _target_as_sent(target: int, trial: Trial, wire: Wire, counter: TokenCounter) -> int:
    """Return the target at which the list also fits in the format in which it is sent, or the last guess.

    A provider format may need more tokens than the view has: a result for a call that lost its own,
    arguments in another form.
    """
    aim = target
    for _ in range(CORRECTIONS):
        try:
            view = trial(aim)
        except (BudgetExceeded, CompactionRefused):
            return target  # compacting for real reports and records what does not fit
        sent = convert([item.message for item in view[fixed_prefix(view) :]], wire)
        over = sum(map(counter.count, wire.parse(sent.items))) - target
        if over <= 0:
            break
        aim -= over
    return aim


def _own_wire(form: str) -> str:
    """Return the provider format that a list is in; Anthropic's for any other."""
    return form if form in WIRES else DEFAULT_WIRE
