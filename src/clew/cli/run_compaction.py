"""Run the compaction for ``clew compact``: of a session in a log, or of a list that is only read.

``compact_stored`` compacts a session of clew's log, ``compact_listed`` the messages of a file, of which
nothing is written. Both return a ``CompactReport``, which ``report.py`` prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol, TypeVar

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
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


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
    wire = _wire(options, log.name.partition(":")[0])
    report = _compact_session(session, options, wire, _stored_part(log, session))
    return replace(report, undoable=log.own and report.compaction_name is not None)


def _compact_session(session: Session, options: CompactRequest, wire: Wire, part: str) -> CompactReport:
    """Compact a session, or only preview it, and return what is printed about it."""
    work = _SessionCompaction(session, options)
    outcome = _compact(work, options, wire)
    after = apply(outcome.plan, work.before) if outcome and options.dry_run else session.view()
    digests = [compaction.digest for compaction in session.trace() if compaction.digest]
    digests += outcome.plan.digests if outcome else ()
    shown = {item.id for item in after}  # an undone digest stays on record
    return CompactReport(
        name=session.name,
        before=work.before,
        after=tuple(after),
        ledger=session.ledger,
        counter=session.counter,
        window=session.gauge.window.tokens,
        wire=wire,
        outcome=outcome,
        digest=next((digest for digest in reversed(digests) if digest.id in shown), None),
        dry_run=options.dry_run,
        compaction_name=session.trace()[-1].name if outcome and not options.dry_run else None,
        model=session.gauge.model,
        with_model=options.summariser is not None,
        part=part,
    )


class _SessionCompaction:
    """The compaction of a session, to try out and to run."""

    def __init__(self, session: Session, options: CompactRequest) -> None:
        self._session, self._options = session, options
        self.before = tuple(session.view())
        self.counter, self.gauge = session.counter, session.gauge

    def trial(self, target: int) -> Sequence[Item]:
        preview = self._session.preview(target_tokens=target, focus=self._options.focus)
        return apply(preview.plan, self.before) if preview else self.before

    def run(self, target: int | None, reason: str | None) -> DecidedCompaction | None:
        """Compact, or preview; ``reason`` is what a person asked for, the target what that needs."""
        focus, messages = self._options.focus, self._options.messages
        if self._options.dry_run:
            outcome = self._session.preview(target_tokens=target, focus=focus, messages=messages)
            return outcome if outcome and outcome.plan.operations else None
        return self._session.compact(target_tokens=target, focus=focus, messages=messages, reason=reason)


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
    compacted = len(transcript.boundaries)
    # A range is given in the numbers of the whole conversation, as `clew show` and `clew expand` print them.
    is_current = compacted > 0 and not options.whole and options.messages is None
    items, hidden = _parts(transcript, is_current)
    model = transcript.model or "unknown"
    wire = _wire(options, transcript.format)
    part = _listed_part(transcript, counter_for(model), is_current) if compacted else ""
    if options.messages is not None:
        session = Session.open(
            name, MemoryStore(), model=model, policy=options.policy, summariser=options.summariser
        )
        session.add(*(item.message for item in items))
        return _compact_session(session, options, wire, part)
    work = _ListCompaction(items, read_current(items, hidden, model), model, options)
    result = _compact(work, options, wire) or work.base
    outcome = None
    if result.plan and result.report:
        outcome = DecidedCompaction(result.plan, result.report, result.attempts, result.usage, result.calls)
    return CompactReport(
        name=name,
        before=work.before,
        after=result.items,
        ledger=work.base.ledger,
        counter=work.counter,
        window=options.window or work.gauge.model.window_tokens,
        wire=wire,
        outcome=outcome,
        digest=result.digest,
        dry_run=options.dry_run,
        model=work.gauge.model,
        with_model=options.summariser is not None,
        part=part,
        is_current=is_current,
    )


class _ListCompaction:
    """The compaction of messages that were read as ``base``, to try out and to run."""

    def __init__(
        self, items: Sequence[Item], base: CompactResult, model: str, options: CompactRequest
    ) -> None:
        self.base, self.before = base, base.items
        self.counter = counter_for(model)
        self.gauge = Gauge(model_named(model), options.policy, options.window)
        self._summariser = None if options.dry_run else options.summariser
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

        self._compacted = compacted

    def trial(self, target: int) -> Sequence[Item]:
        return self._compacted(target, None).items

    def run(self, target: int | None, _reason: str | None) -> CompactResult | None:
        return None if target is None else self._compacted(target, self._summariser)


def _listed_part(transcript: Transcript, counter: TokenCounter, is_current: bool) -> str:
    """Return which part of a session that its tool compacted is taken, and what the other one is."""
    times = count(len(transcript.boundaries), "compaction")
    if not is_current:
        return f"the whole conversation, as if its tool's {times} had not happened"
    now, whole = counter.count_all(transcript.current()), counter.count_all(transcript.full())
    return f"what its model sees after {times} of its tool: {now:,} of {whole:,} tokens; --whole takes all"


# Finding a target and compacting to it -----------------------------------------------------------------


class _Work(Protocol[Result_co]):
    """A compaction to try out and to run: of a session or of a list."""

    before: tuple[Item, ...]
    counter: TokenCounter
    gauge: Gauge

    def trial(self, target: int) -> Sequence[Item]:
        """Return the view after a compaction without a model, to find out whether it fits."""

    def run(self, target: int | None, reason: str | None) -> Result_co | None:
        """Compact to a target; None if there is nothing to gain."""


def _compact(work: _Work[Result], options: CompactRequest, wire: Wire) -> Result | None:
    """Compact as the options say; None if the messages stay as they are.

    The error for a target that is too small names one that works, which trials find.
    """
    target, reason = options.target_tokens, None
    if target is not None:
        reason = f"down to {target:,} tokens, as asked"
        target = _target_as_sent(target, work, wire)
    elif options.messages is None:
        target, reason = _default_target(work, options)
        if target is None:
            return None
    try:
        return work.run(target, reason)
    except BudgetExceeded as refusal:
        if options.target_tokens and not isinstance(refusal, NothingToGain):
            enough = _smallest_target(options.target_tokens, work)
            raise type(refusal)(refusal.detail, f"give at least about {enough:,}") from refusal
        if options.target_tokens or options.window:
            raise
        return None


def _default_target(work: _Work[Result], options: CompactRequest) -> tuple[int | None, str]:
    """Return the default target, what the window requires or half of the list, and why.

    None if it fits already.
    """
    sizes = [work.counter.count(item.message) for item in work.before]
    signals = () if options.window else (CompactionRequested(Asker.USER),)
    verdict = work.gauge.measure(by_region(work.before, sizes), signals).verdict
    if isinstance(verdict, Stop):
        raise BudgetExceeded(verdict.why)
    if not isinstance(verdict, Compact):
        return None, ""
    return verdict.target_tokens - sum(sizes[: fixed_prefix(work.before)]), verdict.why


def _smallest_target(target: int, work: _Work[Result]) -> int:
    """Return a target near the smallest one that works, by bisection."""
    small, enough = target, target * 2
    while enough < NEVER_FULL and not _fits(enough, work):  # a target above the list's size always works
        small, enough = enough, enough * 2
    for _ in range(BISECTIONS):
        middle = (small + enough) // 2
        small, enough = (small, middle) if _fits(middle, work) else (middle, enough)
    return enough


def _fits(target: int, work: _Work[Result]) -> bool:
    try:
        work.trial(target)
    except (BudgetExceeded, CompactionRefused):
        return False
    return True


def _target_as_sent(target: int, work: _Work[Result], wire: Wire) -> int:
    """Return the target at which the list also fits in the format in which it is sent, or the last guess.

    A provider format may need more tokens than the view has: a result for a call that lost its own,
    arguments in another form.
    """
    aim = target
    for _ in range(CORRECTIONS):
        try:
            view = work.trial(aim)
        except (BudgetExceeded, CompactionRefused):
            return target  # compacting for real reports and records what does not fit
        sent = convert([item.message for item in view[fixed_prefix(view) :]], wire)
        over = sum(map(work.counter.count, wire.parse(sent.items))) - target
        if over <= 0:
            break
        aim -= over
    return aim


def _wire(options: CompactRequest, own: str) -> Wire:
    """Return the provider format to write: the one asked for, that of the list, or Anthropic's."""
    return wire_named(options.wire or (own if own in WIRES else "anthropic"))
