"""Judge a plan before it takes effect. Needs no model, and did not write the digest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clew.errors import StalePlan
from clew.plan import Plan
from clew.plan.undisturbed import undisturbed
from clew.verify.case import Case
from clew.verify.citing import check_citations, check_trust
from clew.verify.evidence import Evidence
from clew.verify.form import check_form
from clew.verify.grounding import check_grounding
from clew.verify.loss import check_values
from clew.verify.report import Finding, Level, Loss, Report
from clew.verify.size import check_size
from clew.verify.structure import check_structure
from clew.verify.survival import check_loops, check_pins


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is looked at."""

    name: str
    what: str
    """What it promises of an accepted plan."""
    run: Callable[[Case], Iterable[Finding | Loss]]


CHECKS = (
    Check("pins", "every rule stands word for word, none was added", check_pins),
    Check("open loops", "nothing that is open leaves the view", check_loops),
    Check("values", "exact values are followed; what goes is on record", check_values),
    Check("grounding", "no claim says what its sources do not", check_grounding),
    Check("citations", "every claim leads to turns that the digest stands for", check_citations),
    Check("trust", "nothing is believed more than where it comes from", check_trust),
    Check("size", "the view gets smaller, and no digest is an echo", check_size),
    Check("structure", "prompt, recent turns and pairs are whole; spans are what they say", check_structure),
    Check("form", "the digest reads as it is meant; nothing inside closes its fence", check_form),
)


@undisturbed
def verify(plan: Plan, evidence: Evidence) -> Report:
    """Say what stands against a plan, and what it would lose. Never raises, changes nothing."""
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
