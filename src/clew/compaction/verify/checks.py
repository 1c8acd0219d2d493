"""``CHECKS``, the named checks; ``verify``, which runs them; and their report as text for people.

A check is a function from the plan and its task to findings (what is wrong) and losses (what leaves the
view).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from clew.compaction.plan import Plan
from clew.compaction.plan.plan import gc_paused
from clew.compaction.task import CompactionTask
from clew.compaction.verify.claims import check_citations, check_form, check_size, check_trust
from clew.compaction.verify.context import VerificationContext
from clew.compaction.verify.grounding import check_grounding
from clew.compaction.verify.report import Finding, Level, Loss, LossKind, LostItem, Report, SurvivalCount
from clew.compaction.verify.structure import check_structure
from clew.compaction.verify.survival import (
    check_decisions,
    check_failures,
    check_instructions,
    check_loops,
    check_pins,
    check_values,
)
from clew.errors import StalePlan
from clew.message.text import one_line


@dataclass(frozen=True, slots=True)
class Check:
    """One named check."""

    name: str
    what: str
    """What it guarantees of an accepted plan."""
    run: Callable[[VerificationContext], Iterable[Finding | Loss]]


VALUES = Check("values", "exact values that leave the view are counted", check_values)
"""For information, and not cheap."""
CHECKS = (
    Check("pins", "every rule is in the view word for word, none was added", check_pins),
    Check("open loops", "no open item leaves the view", check_loops),
    Check("decisions", "decisions and earlier goals that leave the view are recorded", check_decisions),
    Check(
        "host",
        "texts of system and developer messages behind the prompt are recorded if they leave",
        check_instructions,
    ),
    Check(
        "failures",
        "failures stated in texts that are shortened are recorded if they leave",
        check_failures,
    ),
    VALUES,
    Check("grounding", "no claim says what its sources do not say", check_grounding),
    Check("citations", "every claim cites turns that its digest covers", check_citations),
    Check("trust", "no claim has a higher trust label than its sources", check_trust),
    Check("size", "the view gets smaller, and no digest is a copy", check_size),
    Check(
        "structure",
        "prompt, recent turns and call/result pairs are intact; spans are correct",
        check_structure,
    ),
    Check("form", "the rendered digest reads as meant; its content cannot close its fence", check_form),
)


@gc_paused
def verify(plan: Plan, task: CompactionTask, *, values: bool = False) -> Report:
    """Return what is wrong with a plan and what it would lose. Never raises and changes nothing.

    Exact values are counted only with ``values``, since that takes time; ``count_values`` does it later.
    """
    try:
        case = VerificationContext(plan, task)
    except StalePlan as cause:
        return Report((Finding("structure", Level.REFUSE, "", cause.detail, "it was made for another view"),))
    checks = [check for check in CHECKS if values or check is not VALUES]
    report = Report(
        messages_before=len(task.view),
        messages_after=len(case.after),
        tokens_before=case.tokens_before,
        tokens_after=case.tokens_after,
        target_tokens=task.target_tokens,
    )
    return _with(report, [finding for check in checks for finding in check.run(case)])


@gc_paused
def count_values(report: Report, plan: Plan, task: CompactionTask) -> Report:
    """Return the report of a plan with what becomes of exact values."""
    return _with(report, list(VALUES.run(VerificationContext(plan, task))))


@gc_paused
def losses_in_full(report: Report, plan: Plan, task: CompactionTask) -> Report:
    """Return the report with every exact value that it only counts named."""
    without_values = replace(
        report,
        findings=tuple(one for one in report.findings if one.check != VALUES.name),
        kept=tuple(one for one in report.kept if one.matter is not LossKind.VALUE),
        lost=tuple(one for one in report.lost if one.matter is not LossKind.VALUE),
        kept_values=(),
    )
    return _with(without_values, list(check_values(VerificationContext(plan, task), sys.maxsize)))


def _with(report: Report, found: Sequence[Finding | Loss]) -> Report:
    losses = [one for one in found if isinstance(one, Loss)]
    return replace(
        report,
        findings=(*report.findings, *(one for one in found if isinstance(one, Finding))),
        kept=(*report.kept, *(loss.kept for loss in losses)),
        lost=(*report.lost, *(lost for loss in losses for lost in loss.lost)),
        kept_values=(*report.kept_values, *(value for loss in losses for value in loss.values)),
    )


MOST_LISTED = 12
"""Findings per check and losses per sort that are listed; the others are counted."""
_LONGEST = 100
_SIGNS = {Level.REFUSE: "✗", Level.DROP: "✗", Level.REPAIR: "!", Level.NOTE: "·"}


def render_report(report: Report) -> str:
    """Render a report for a terminal."""
    return "\n".join(_report_lines(report))


def preview(plan: Plan, task: CompactionTask) -> str:
    """Render what a plan would lose, with the id to keep each; ``verify(…).lost`` has the same as data."""
    return "\n".join(_preview_lines(verify(plan, task, values=True)))


def _report_lines(report: Report) -> Iterator[str]:
    yield f"{_verdict(report)}: {_sizes(report)}"
    for check in CHECKS:
        findings = [finding for finding in report.findings if finding.check == check.name]
        sign = "✗" if any(finding.level is not Level.NOTE for finding in findings) else "✓"
        yield f"{sign} {check.name:<11} {check.what}"
        yield from (f"    {line}" for line in _first_lines(map(_finding, findings), len(findings)))
    yield from _kept_lines(report.kept)
    if report.kept_values:
        yield "Exact values kept by the digest or an excerpt:"
        yield f"  {_list_first(report.kept_values)}"
    yield from _lost_lines(report, "not in the new view")


def _verdict(report: Report) -> str:
    if report.accepted:
        return "Accepted"
    return "Refused" if report.refused else "To be repaired"


def _sizes(report: Report) -> str:
    return (
        f"{report.messages_before:,} → {report.messages_after:,} messages, "
        f"{report.tokens_before:,} → {report.tokens_after:,} tokens (target {report.target_tokens:,})"
    )


def _finding(finding: Finding) -> str:
    about = f"{finding.subject}: " if finding.subject else ""
    why = f" ({finding.why})" if finding.why else ""
    return f"{_SIGNS[finding.level]} {finding.level.value:<6} {about}{one_line(finding.what, _LONGEST)}{why}"


def _kept_lines(kept_counts: Iterable[SurvivalCount]) -> Iterator[str]:
    for survival in kept_counts:
        if survival.before:
            others = f", {survival.reachable:,} more can be reached from it" if survival.reachable else ""
            visible = f"{survival.stand:,} of {survival.before:,} are in the view"
            yield f"{survival.matter.plural:<13} {visible}{others}"


def _list_first(values: Sequence[str]) -> str:
    """Return the first values in one line, and how many more there are."""
    named = ", ".join(one_line(value, _LONGEST) for value in values[:MOST_LISTED])
    return f"{named}, and {len(values) - MOST_LISTED:,} more" if len(values) > MOST_LISTED else named


def _preview_lines(report: Report) -> Iterator[str]:
    yield f"The view would change: {_sizes(report)}."
    yield "Nothing leaves the log. Of what the model sees now:"
    yield from (f"  {line}" for line in _kept_lines(report.kept))
    yield from _lost_lines(report, "that would go")
    against = [finding for finding in report.findings if finding.level is not Level.NOTE]
    if against:
        yield "This plan would be refused:"
        yield from (f"  {line}" for line in _first_lines(map(_finding, against), len(against)))


def _lost_lines(report: Report, how: str) -> Iterator[str]:
    """Yield the names of what is lost, by sort."""
    for matter in LossKind:
        lost = [loss for loss in report.lost if loss.matter is matter]
        total = sum(count.gone + count.reachable for count in report.kept if count.matter is matter)
        if lost:
            yield f"{matter.plural.capitalize()} {how}:"
            yield from (f"  {line}" for line in _first_lines(map(_loss_line, lost), total))


def _loss_line(lost: LostItem) -> str:
    where = "" if lost.id == lost.source else f" [{lost.source}]"
    reach = ", cited by a line that stays" if lost.reachable else ""
    return f"{lost.id:<6} {one_line(lost.text, _LONGEST)}{where}{reach}"


def _first_lines(lines: Iterable[str], total: int) -> Iterator[str]:
    """Yield the first lines, and how many more there are."""
    shown = 0
    for line in lines:
        if shown == MOST_LISTED:
            break
        yield line
        shown += 1
    if total > shown:
        yield f"… and {total - shown:,} more"
