"""Decide on a compaction: propose, verify, retry, repair, fall back to code, or refuse.

A model's digest is proposed first and verified by code that did not write it. If it is refused, the model is
asked once more with the list of findings; then code repairs it. If that fails, the model-free digest is used;
if even that would break a guarantee, nothing happens. Nothing here touches a store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from clew.budget import Trigger
from clew.budget.state import LEAST_PROGRESS
from clew.compaction.bill import ModelBill, count_calls
from clew.compaction.plan import Condense, Plan
from clew.compaction.plan.plan import apply
from clew.compaction.propose.brief import Outline, Written
from clew.compaction.propose.digest_builder import CODE
from clew.compaction.propose.ladder import outline, propose
from clew.compaction.propose.summary import SessionRequest, write
from clew.compaction.task import CompactionTask
from clew.compaction.verify import Level, Report, repair, verify
from clew.compaction.verify.claims import few_sources
from clew.errors import (
    BudgetExceeded,
    CompactionRefused,
    MessagesDoNotFit,
    ModelError,
    NothingToGain,
    PinsDoNotFit,
    SummaryFailed,
)
from clew.message import Message, Usage, fixed_prefix
from clew.providers.model import Steps
from clew.rules.rule import MadeBy


@dataclass(frozen=True, slots=True)
class Writer:
    """The model that writes the prose of a digest."""

    name: str
    window_tokens: int
    request: SessionRequest | None = None
    """The session's own request, so that the summary request is read from the provider's prompt cache."""
    tries: int = 2
    """How often the whole digest is asked for: the second time with the findings of the first."""
    judges_rules: bool = True
    """Whether it is also asked which sentences of the user are rules (``judge_rules``)."""


@dataclass(frozen=True, slots=True)
class DigestAttempt:
    """One proposal and its outcome."""

    author: str
    outcome: str
    """``accepted``, ``repaired``, ``refused``, or ``failed`` if there was nothing to verify."""
    misses: tuple[str, ...] = ()
    """What was wrong with it, for people."""


@dataclass(frozen=True, slots=True)
class DecidedCompaction:
    """A plan that may take effect, its report, and the attempts that led to it."""

    plan: Plan = field(repr=False)
    report: Report = field(repr=False)
    attempts: tuple[DigestAttempt, ...] = ()
    usage: Usage = field(default_factory=Usage)
    """Tokens used by the models that were asked."""
    calls: int = 0
    not_judged: str = ""
    """Why the model did not say which sentences are rules, although it was asked; empty if it did."""

    @property
    def asked(self) -> str:
        """Return the name of the model that was asked, also if code wrote the digest; empty if none was."""
        return next((attempt.author for attempt in reversed(self.attempts) if attempt.author != CODE), "")


RULE_SHARES = (0.6, 0.4, 0.2, 0.0)
"""Shares of the room for found rules, tried in turn if they do not all fit; chosen by hand."""
RAISES = (1.3, 1.7, 2.5, 4.0)
"""Factors by which a target is raised in turn, so that found rules stay whole; chosen by hand."""
MOST_SMALLER = 3
"""How often a digest by code is made smaller so that it fits with what a repair restores; chosen by hand."""


def decide(task: CompactionTask, writer: Writer | None = None) -> Steps[DecidedCompaction]:
    """Return the plan to put into effect; raise ``CompactionRefused`` if none keeps what must be kept.

    Its report does not count exact values (see ``count_values``). If the last messages that must stay
    verbatim do not, a target that a caller set raises ``MessagesDoNotFit``; the window's target is raised as
    far as the task allows, and as many as possible stay.
    """
    outcome = yield from _decide_rules(_with_room_to_keep(task), writer)
    _require_gain(outcome.plan, task)
    is_asked = task.trigger is Trigger.MANUAL and task.most_tokens is None and task.chosen is None
    if is_asked and not _keeps_last(outcome.plan, task):
        raise _do_not_fit(task)
    return outcome


def _decide_rules(task: CompactionTask, writer: Writer | None) -> Steps[DecidedCompaction]:
    """Decide on a plan. If found rules do not fit the target, it is raised as far as the task allows.

    Those that do not fit even then are replaced by one line that cites them, unless nobody set a size and the
    view has room for them: then there is nothing to gain. Rules set by hand never are, so only they can raise
    ``PinsDoNotFit``.
    """
    try:
        return (yield from _decide(task, writer))
    except BudgetExceeded as refusal:
        if isinstance(refusal, NothingToGain) and not task.sized:
            raise
        last = refusal
    for raised in _raised(task) if task.has_found_rules else ():
        task = raised
        try:
            return (yield from _decide(task, writer))
        except BudgetExceeded as refusal:
            last = refusal
    if not task.sized and task.tokens <= (task.most_tokens or 0):
        raise last if isinstance(last, NothingToGain) else NothingToGain(f"nothing to gain: {last.detail}")
    room = task.target_tokens - sum(map(task.counter.count, _prompt(task)))
    shares = RULE_SHARES if room > 0 and task.has_found_rules else ()
    for share in shares:
        try:
            return (yield from _decide(replace(task, rule_tokens=int(room * share)), writer))
        except BudgetExceeded as refusal:
            last = refusal
    by_hand = task.ledger.facts.all or any(pin.made_by is MadeBy.PERSON for pin in task.ledger.pins.active)
    if isinstance(last, PinsDoNotFit) and not isinstance(last, NothingToGain) and not by_hand:
        raise BudgetExceeded(last.detail, "ask for more tokens, or use a model with a larger window")
    raise last


def _require_gain(plan: Plan, task: CompactionTask) -> None:
    """Raise ``NothingToGain`` if nobody asked for a size or a focus, and the view would hardly be smaller.

    A new digest is not in the provider's prompt cache: writing it costs more than so few tokens do.
    """
    freed = plan.tokens_before - plan.tokens_after
    asked = task.sized or task.focus or task.chosen is not None
    if not asked and plan.operations and freed < LEAST_PROGRESS * plan.tokens_before:
        raise NothingToGain(f"nothing to gain: it would free {freed:,} of {plan.tokens_before:,} tokens")


def _with_room_to_keep(task: CompactionTask) -> CompactionTask:
    """Return the task with room for the last messages that must stay verbatim, if the target allows it.

    A target that a caller set is not raised.
    """
    first = _first_to_keep(task)
    if first == len(task.view) or task.chosen is not None:
        return task
    tokens = sum(task.counter.count(item.message) for item in task.view[first:])
    task = replace(task, keep=replace(task.keep, tokens=tokens))
    for one in (task, *_raised(task)):
        try:
            plan = propose(one)
        except BudgetExceeded:  # of rules, for example: decided below
            continue
        if _keeps_last(plan, one):
            return one
    return task


def _first_to_keep(task: CompactionTask) -> int:
    """Return the index of the first message that must stay verbatim; a digest of clew's own need not."""
    shown = task.shown[0] if task.shown else None
    digest = next((i for i, item in enumerate(task.view) if item.id == shown), -1)
    least = max(fixed_prefix(task.view), digest + 1)
    held, first = 0, len(task.view)
    while first > least and (len(task.view) - first < task.keep.verbatim or held < (task.keep.tokens or 0)):
        first -= 1
        held += task.counter.count(task.view[first].message)
    return first


def _keeps_last(plan: Plan, task: CompactionTask) -> bool:
    """Whether the messages that must stay verbatim do."""
    last = task.view[_first_to_keep(task) :]
    return not last or apply(plan, task.view)[-len(last) :] == list(last)


def _do_not_fit(task: CompactionTask) -> MessagesDoNotFit:
    last = task.view[_first_to_keep(task) :]
    tokens = sum(task.counter.count(item.message) for item in last)
    room = task.target_tokens - sum(map(task.counter.count, _prompt(task)))
    what = "message takes" if len(last) == 1 else f"{len(last):,} messages take"
    return MessagesDoNotFit(f"the last {what} {tokens:,} tokens: with a digest, too many for {room:,}")


def _raised(task: CompactionTask) -> Iterator[CompactionTask]:
    """Yield the task with higher targets, as far as they still make the view smaller."""
    most = min(task.most_tokens or 0, task.tokens + task.beside_tokens - 1)
    for target in sorted({min(most, int(task.target_tokens * factor)) for factor in RAISES}):
        if target > task.target_tokens:
            yield replace(task, target_tokens=target)


def _prompt(task: CompactionTask) -> list[Message]:
    return [item.message for item in task.view[: fixed_prefix(task.view)]]


def _decide(task: CompactionTask, writer: Writer | None) -> Steps[DecidedCompaction]:
    if writer and not task.sized:
        _require_gain(propose(task), task)  # before a model is paid for it
    decision = _Decision(task)
    result = (yield from decision.try_model(writer)) if writer else None
    result = result or decision.try_extractive()
    if result is None:
        raise CompactionRefused("; ".join(decision.attempts[-1].misses[:3]))
    return DecidedCompaction(*result, tuple(decision.attempts), decision.bill.usage, decision.bill.calls)


@dataclass(slots=True)
class _Decision:
    """One decision in progress: the attempts so far and what they cost."""

    task: CompactionTask
    attempts: list[DigestAttempt] = field(default_factory=list)
    bill: ModelBill = field(default_factory=ModelBill)

    def try_model(self, writer: Writer) -> Steps[tuple[Plan, Report] | None]:
        """Ask the model until a digest is accepted, then repair the last one; None if prose is of no use."""
        sketch = outline(self.task)
        if sketch is None:
            return None
        last: tuple[Plan, Report] | None = None
        own: frozenset[str] = frozenset()
        misses: tuple[str, ...] = ()
        for _ in range(writer.tries):
            try:
                written = yield from count_calls(self._write(sketch, writer, misses), self.bill)
            except (SummaryFailed, ModelError) as failure:
                self.attempts.append(DigestAttempt(writer.name, "failed", (str(failure),)))
                break
            own = frozenset(claim.text for claim in written.claims)
            plan = propose(self.task, written)
            last = plan, _verified(plan, self.task, own)
            if last[1].accepted:
                self.attempts.append(DigestAttempt(writer.name, "accepted"))
                return last
            misses = tuple(_misses(last[1]))
            self.attempts.append(DigestAttempt(writer.name, "refused", misses))
        return self._repair(*last, own) if last else None

    def try_extractive(self) -> tuple[Plan, Report] | None:
        """Propose a digest without a model; smaller ones if it does not fit with what a repair restores."""
        room = self.task.target_tokens
        plan = propose(self.task)
        report = verify(plan, self.task)
        if report.accepted:
            self.attempts.append(DigestAttempt(CODE, "accepted"))
            return plan, report
        self.attempts.append(DigestAttempt(CODE, "refused", tuple(_misses(report))))
        for _ in range(MOST_SMALLER):
            whole = repair(plan, report, self.task, allow_sparse=True)
            if whole is None or whole.fits:
                break
            room = min(room, plan.tokens_after) - (whole.tokens_after - self.task.target_tokens)
            try:
                smaller = propose(replace(self.task, target_tokens=room))
            except BudgetExceeded:
                break
            plan = replace(smaller, target_tokens=self.task.target_tokens)
            report = verify(plan, self.task)
        return (plan, report) if report.accepted else self._repair(plan, report)

    def _write(self, sketch: Outline, writer: Writer, misses: Sequence[str]) -> Steps[Written]:
        return write(
            sketch,
            model_name=writer.name,
            window_tokens=writer.window_tokens,
            counter=self.task.counter,
            focus=self.task.focus,
            request=writer.request,
            misses=misses,
        )

    def _repair(
        self, plan: Plan, refused: Report, own: frozenset[str] | None = None
    ) -> tuple[Plan, Report] | None:
        """Repair the last attempt and return it if that is accepted; ``own`` are the lines of a model.

        If none of these is left, code writes a digest of its own, which has more room.
        """
        author = self.attempts[-1].author
        if author != CODE:
            plan = _signed(plan, f"{author}, repaired by {CODE}")
        better = repair(plan, refused, self.task, allow_sparse=author == CODE)
        report = _verified(better, self.task, own or ()) if better else None
        if better is None or report is None or not (report.accepted and better.fits):
            return None
        if own is not None and not any(
            claim.text in own for digest in better.digests for claim in digest.claims
        ):
            return None
        self.attempts.append(DigestAttempt(author, "repaired"))
        return better, report


def _verified(plan: Plan, task: CompactionTask, own: Collection[str]) -> Report:
    """Verify a plan; ``own`` are the texts of the claims that a model wrote."""
    report = verify(plan, task)
    return replace(report, findings=(*report.findings, *few_sources(plan, own)))


def _signed(plan: Plan, author: str) -> Plan:
    """Return a plan whose digests name an author."""
    operations = (
        replace(part, digest=replace(part.digest, author=author)) if isinstance(part, Condense) else part
        for part in plan.operations
    )
    return replace(plan, operations=tuple(operations))


def _misses(report: Report) -> list[str]:
    return [
        f"{finding.what} ({finding.why})" if finding.why else finding.what
        for finding in report.findings
        if finding.level is not Level.NOTE
    ]
