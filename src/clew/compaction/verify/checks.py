"""The list of checks, and ``verify``, which runs them. Needs no model, and did not write the digest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clew.compaction.plan import Plan
from clew.compaction.plan.undisturbed import undisturbed
from clew.compaction.verify.case import Case
from clew.compaction.verify.citing import check_citations, check_trust
from clew.compaction.verify.evidence import Evidence
from clew.compaction.verify.form import check_form
from clew.compaction.verify.grounding import check_grounding
from clew.compaction.verify.loss import check_values
from clew.compaction.verify.report import Finding, Level, Loss, Report
from clew.compaction.verify.size import check_size
from clew.compaction.verify.structure import check_structure
from clew.compaction.verify.survival import check_loops, check_pins
from clew.errors import StalePlan


@dataclass(frozen=True, slots=True)
class Check:
    """One named check."""

    name: str
    what: str
    """What it guarantees of an accepted plan."""
    run: Callable[[Case], Iterable[Finding | Loss]]


CHECKS = (
    Check("pins", "every rule is in the view word for word, none was added", check_pins),
    Check("open loops", "no open item leaves the view", check_loops),
    Check("values", "exact values that leave the view are recorded", check_values),
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


@undisturbed
def verify(plan: Plan, evidence: Evidence) -> Report:
    """Return what is wrong with a plan and what it would lose. Never raises and changes nothing."""
    try:
        case = Case(plan, evidence)
    except StalePlan as cause:
        return Report((Finding("structure", Level.REFUSE, "", cause.detail, "it was made for another view"),))
    found = [one for check in CHECKS for one in check.run(case)]
    losses = [one for one in found if isinstance(one, Loss)]
    return Report(
        tuple(one for one in found if isinstance(one, Finding)),
        tuple(loss.kept for loss in losses),
        tuple(lost for loss in losses for lost in loss.lost),
        len(evidence.view),
        len(case.after),
        case.tokens_before,
        case.tokens_after,
        evidence.target_tokens,
    )
