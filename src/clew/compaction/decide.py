"""Decide on a compaction: propose, verify, retry, repair, fall back to code, or refuse.

A model's digest is proposed first and verified by code that did not write it. If it is refused, the model is
asked once more with the list of findings; then code repairs it. If that fails, the model-free digest is used;
if even that would break a guarantee, nothing happens. Nothing here touches a store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from clew.compaction.bill import Bill, billed
from clew.compaction.plan import Claim, ClaimKind, Digest, Pin, Plan
from clew.compaction.propose.brief import MandatoryContent, Outline, Written
from clew.compaction.propose.ladder import Situation, outline, propose
from clew.compaction.propose.ledger_claims import mandatory_content
from clew.compaction.propose.summary import SessionRequest, write
from clew.compaction.propose.tail import AS_USUAL, Keep
from clew.compaction.verify import Evidence, LedgerEntry, Level, Report, repair, verify
from clew.errors import (
    BudgetExceeded,
    CompactionRefused,
    ModelError,
    NothingToGain,
    PinsDoNotFit,
    SummaryFailed,
)
from clew.ledger.ledger import Ledger
from clew.message import Item, Message, Usage, fixed_prefix
from clew.providers import Wire
from clew.providers.model import Steps
from clew.rules.rule import MadeBy
from clew.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Writer:
    """The model that writes the prose of a digest."""

    name: str
    window_tokens: int
    request: SessionRequest | None = None
    """The session's own request, so that the summary request is read from the provider's prompt cache."""
    tries: int = 2
    """How often the whole digest is asked for: the second time with the findings of the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A view to compact, and everything known about it."""

    view: Sequence[Item]
    ledger: Ledger
    counter: TokenCounter
    target_tokens: int
    """For the whole view, system prompt included."""
    originals: Callable[[str], Message | None]
    """Finds any message of the session in its original form."""
    sizes: Sequence[int] | None = None
    """The tokens of the messages of the view, if already counted."""
    shown: tuple[str, Digest] | None = None
    """The digest in the view, and the id of its message."""
    carried: MandatoryContent = field(default_factory=MandatoryContent)
    """What must survive besides the ledger's entries: for a list whose beginning only a digest records."""
    digest_id: str = "d1"
    keep: Keep = AS_USUAL
    focus: str | None = None
    """What a person said matters now."""
    trigger: str = "manual"
    reason: str = "asked for"
    wire: Wire | None = None
    sized: bool = True
    """A person or the window set the target; otherwise it is a preference."""
    rule_tokens: int | None = None
    """Budget for rules found in the session; None for all of them. Rules set by hand are always kept."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One proposal and its outcome."""

    author: str
    outcome: str
    """``accepted``, ``repaired``, ``refused``, or ``failed`` if there was nothing to verify."""
    misses: tuple[str, ...] = ()
    """What was wrong with it, for people."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A plan that may take effect, its report, and the attempts that led to it."""

    plan: Plan = field(repr=False)
    report: Report = field(repr=False)
    attempts: tuple[Attempt, ...] = ()
    usage: Usage = field(default_factory=Usage)
    """Tokens used by the models that were asked."""
    calls: int = 0


RULE_SHARES = (0.4, 0.2, 0.0)
"""Shares of the room for found rules, tried in turn if they do not all fit; chosen by hand."""


def decide(job: Job, writer: Writer | None = None) -> Steps[Outcome]:
    """Return the plan to put into effect; raise ``CompactionRefused`` if none keeps what must be kept.

    Found rules that do not fit are replaced by one line that cites them. Rules set by hand never are, so only
    they can raise ``PinsDoNotFit``.
    """
    try:
        return (yield from _decided(job, writer))
    except BudgetExceeded as refusal:
        if isinstance(refusal, NothingToGain) and not job.sized:
            raise
        last = refusal
    room = job.target_tokens - sum(map(job.counter.count, _prompt(job)))
    shares = RULE_SHARES if room > 0 and any(_found(job)) else ()
    for share in shares:
        try:
            return (yield from _decided(replace(job, rule_tokens=int(room * share)), writer))
        except BudgetExceeded as refusal:
            last = refusal
    by_hand = job.ledger.facts.all or any(pin.made_by is MadeBy.PERSON for pin in job.ledger.pins.active)
    if isinstance(last, PinsDoNotFit) and not isinstance(last, NothingToGain) and not by_hand:
        raise BudgetExceeded(last.detail, "ask for more tokens, or use a model with a larger window")
    raise last


def _prompt(job: Job) -> list[Message]:
    return [item.message for item in job.view[: fixed_prefix(job.view)]]


def _found(job: Job) -> list[str]:
    """Return the ids of the rules found in the session, those most worth showing first.

    Each is ranked by how recent and how certain it is.
    """
    found = [pin for pin in job.ledger.pins.active if pin.made_by is MadeBy.FOUND]
    by_certainty = sorted(range(len(found)), key=lambda place: found[place].confidence)
    rank = {place: place + certainty for certainty, place in enumerate(by_certainty)}
    return [found[place].id for place in sorted(rank, key=lambda place: -rank[place])]


def _decided(job: Job, writer: Writer | None) -> Steps[Outcome]:
    decision = _Decision(_situation(job), _evidence(job))
    found = (yield from decision.try_model(writer)) if writer else None
    found = found or decision.try_extractive()
    if found is None:
        raise CompactionRefused("; ".join(decision.attempts[-1].misses[:3]))
    return Outcome(*found, tuple(decision.attempts), decision.bill.usage, decision.bill.calls)


@dataclass(slots=True)
class _Decision:
    """One decision in progress: the attempts so far and what they cost."""

    now: Situation
    evidence: Evidence
    attempts: list[Attempt] = field(default_factory=list)
    bill: Bill = field(default_factory=Bill)

    def try_model(self, writer: Writer) -> Steps[tuple[Plan, Report] | None]:
        """Ask the model until a digest is accepted, then repair the last one; None if prose is of no use."""
        sketch = outline(self.now)
        if sketch is None:
            return None
        last: Plan | None = None
        misses: tuple[str, ...] = ()
        for _ in range(writer.tries):
            try:
                written = yield from billed(self._write(sketch, writer, misses), self.bill)
            except (SummaryFailed, ModelError) as failure:
                self.attempts.append(Attempt(writer.name, "failed", (str(failure),)))
                break
            last = propose(self.now, written)
            report = verify(last, self.evidence)
            if report.accepted:
                self.attempts.append(Attempt(writer.name, "accepted"))
                return last, report
            misses = tuple(_misses(report))
            self.attempts.append(Attempt(writer.name, "refused", misses))
        return self._repaired(last) if last else None

    def try_extractive(self) -> tuple[Plan, Report] | None:
        """Propose a digest without a model."""
        plan = propose(self.now)
        report = verify(plan, self.evidence)
        if report.accepted:
            self.attempts.append(Attempt("clew", "accepted"))
            return plan, report
        self.attempts.append(Attempt("clew", "refused", tuple(_misses(report))))
        return self._repaired(plan)

    def _write(self, sketch: Outline, writer: Writer, misses: Sequence[str]) -> Steps[Written]:
        return write(
            sketch,
            model_name=writer.name,
            window_tokens=writer.window_tokens,
            counter=self.now.counter,
            focus=self.now.focus,
            request=writer.request,
            misses=misses,
        )

    def _repaired(self, plan: Plan) -> tuple[Plan, Report] | None:
        """Repair the last attempt and return it if that is accepted."""
        try_extractive = self.attempts[-1].author == "clew"
        better = repair(plan, verify(plan, self.evidence), self.evidence, allow_sparse=try_extractive)
        report = verify(better, self.evidence) if better else None
        if better is None or report is None or not (report.accepted and better.fits):
            return None
        self.attempts.append(Attempt(self.attempts[-1].author, "repaired"))
        return better, report


def _misses(report: Report) -> list[str]:
    return [
        f"{finding.what} ({finding.why})" if finding.why else finding.what
        for finding in report.findings
        if finding.level is not Level.NOTE
    ]


# Input of the rooms below ----------------------------------------------------------------------------


def _situation(job: Job) -> Situation:
    return Situation(
        job.view,
        job.counter,
        job.target_tokens,
        job.ledger.values,
        lambda span: told(job, span),
        job.ledger.artifacts.changed,
        job.ledger.turns,
        keep=job.keep,
        shown=job.shown,
        originals=job.originals,
        sizes=job.sizes,
        focus=job.focus,
        digest_id=job.digest_id,
        trigger=job.trigger,
        reason=job.reason,
    )


def told(job: Job, span: Sequence[Item]) -> MandatoryContent:
    """Return what a digest of this span must contain."""
    brief = mandatory_content(job.ledger, span, job.shown)
    pins, claims = (*job.carried.pins, *brief.pins), (*job.carried.claims, *brief.claims)
    if job.rule_tokens is None:
        return MandatoryContent(pins, claims)
    shown, collapsed = _collapsed(job, pins, job.rule_tokens)
    return MandatoryContent(shown, (*_line_for(collapsed), *claims))


def _collapsed(job: Job, pins: Sequence[Pin], room: int) -> tuple[tuple[Pin, ...], list[Pin]]:
    """Return the rules that are shown, and those for which there is no room."""
    by_id = {pin.id: pin for pin in pins}
    gone: set[str] = set()
    for name in _found(job):
        pin = by_id.get(name)
        if pin is None:
            continue
        room -= job.counter.count_text(pin.quote) + PER_RULE_TOKENS
        if room < 0:
            gone.add(name)
    return tuple(pin for pin in pins if pin.id not in gone), [pin for pin in pins if pin.id in gone]


PER_RULE_TOKENS = 12
"""What a rule takes in a digest besides its words: turn, speaker, marks."""
MOST_NAMED = 12
"""Turns that the line for collapsed rules cites, oldest first."""


def _line_for(rules: Sequence[Pin]) -> list[Claim]:
    """Return the line that replaces rules there is no room for, with the turns to read them in."""
    if not rules:
        return []
    cites = {pin.source.message: pin.source for pin in reversed(rules)}
    sources = tuple(cites[name] for name in list(reversed(cites))[:MOST_NAMED])
    text = f"{len(rules)} more rules apply, not shown for lack of room: read them in these turns"
    if len(cites) > MOST_NAMED:
        text += f" and {len(cites) - MOST_NAMED} later ones"
    return [Claim("", ClaimKind.OPEN, text, sources, min(pin.trust for pin in rules))]


def _evidence(job: Job) -> Evidence:
    brief = told(job, job.view)
    loops = tuple(LedgerEntry(loop.id, loop.text, loop.source) for loop in job.ledger.loops.collapsed)
    decisions = tuple(LedgerEntry(one.id, one.quote, one.source) for one in job.ledger.decisions)
    return Evidence(
        view=job.view,
        counter=job.counter,
        target_tokens=job.target_tokens,
        originals=job.originals,
        sizes=dict(zip((item.id for item in job.view), job.sizes or (), strict=False)),
        pins=brief.pins,
        loops=loops,
        decisions=decisions,
        ledger_claims=brief.claims,
        values=job.ledger.values,
        shown=dict([job.shown]) if job.shown else {},
        keep_messages=1,
        wire=job.wire,
    )
