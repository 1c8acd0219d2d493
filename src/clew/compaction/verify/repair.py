"""Repair a plan from the ledger and the sources, without a model.

A claim that cites nothing is dropped. A missing rule goes into the last digest, word for word; without a
digest the message that has it is shown whole again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from clew.compaction.ledger_claims import LedgerEntry
from clew.compaction.plan import Condense, Digest, Operation, Plan, RuleQuote, Shrink
from clew.compaction.task import CompactionTask
from clew.compaction.verify.claims import lower_trust
from clew.compaction.verify.context import ClaimCheck, VerificationContext, open_claim
from clew.compaction.verify.report import Level, Report
from clew.compaction.verify.survival import ledger_pins, missing_loops, missing_pins, summaries_with
from clew.errors import StalePlan

MOST_DROPPED = 0.5
"""The share of claims above which a digest is not worth repairing; chosen by hand."""


def repair(plan: Plan, report: Report, task: CompactionTask, *, allow_sparse: bool = False) -> Plan | None:
    """Return the plan with wrong claims dropped and missing rules and items restored, or None.

    Ungrounded and uncited claims are dropped, labels lowered to what their sources allow, invented rules
    removed, missing rules and open items restored word for word. ``verify`` either accepts or refuses the
    result; there is nothing left to repair in it. None means that too little would be left of a digest.

    ``allow_sparse`` accepts a digest however little is left of it: code wrote it, so no better one will come.
    """
    try:
        case = VerificationContext(plan, task)
    except StalePlan:
        return None
    dropped = {finding.subject for finding in report.findings if finding.level is Level.DROP}
    if not allow_sparse and any(
        _is_sparse(claim_checks, dropped) for claim_checks in case.claim_checks.values()
    ):
        return None
    repaired = replace(
        plan, operations=tuple(_repair_operation(case, operation, dropped) for operation in plan.operations)
    )
    settled = _recount(replace(plan, operations=tuple(_restore_missing(repaired, task))), task)
    return settled if settled.operations != plan.operations else None


def _is_sparse(claim_checks: Sequence[ClaimCheck], dropped: Collection[str]) -> bool:
    """Whether too little would be left of what the summariser wrote."""
    own = [check.claim.id in dropped for check in claim_checks if not check.vouched]
    return not claim_checks or (bool(own) and sum(own) > min(len(own) - 1, len(own) * MOST_DROPPED))


def _repair_operation(case: VerificationContext, operation: Operation, dropped: Collection[str]) -> Operation:
    if not isinstance(operation, Condense):
        return operation
    digest = operation.digest
    claims = tuple(
        lower_trust(check) for check in case.claim_checks[digest.id] if check.claim.id not in dropped
    )
    return replace(operation, digest=replace(digest, claims=claims, pins=ledger_pins(case, digest)))


def _restore_missing(plan: Plan, task: CompactionTask) -> list[Operation]:
    """Put missing rules and items into the last digest, or else show their messages whole again."""
    case = VerificationContext(plan, task)
    pins, loops = missing_pins(case), missing_loops(case)
    operations = list(plan.operations)
    last = next((i for i in reversed(range(len(operations))) if isinstance(operations[i], Condense)), None)
    if last is None:
        lost = {pin.source.message for pin in pins} | {loop.source.message for loop in loops}
        lost.update(name for loop in loops for name in summaries_with(case, loop))
        return [op for op in operations if not (isinstance(op, Shrink) and op.id in lost)]
    condense = operations[last]
    if isinstance(condense, Condense):
        operations[last] = replace(condense, digest=_with_entries(case, condense.digest, pins, loops))
    return operations


def _with_entries(
    case: VerificationContext, digest: Digest, pins: Iterable[RuleQuote], loops: Iterable[LedgerEntry]
) -> Digest:
    numbers = (check.claim.id.rpartition(".")[2] for check in case.all_claim_checks())
    first = 1 + max((int(number) for number in numbers if number.isdecimal()), default=0)
    claims = [
        claim._replace(id=f"{digest.id}.{number}", trust=ClaimCheck(claim, case).ceiling)
        for number, claim in enumerate(map(open_claim, loops), start=first)
    ]
    return replace(digest, claims=(*digest.claims, *claims), pins=ledger_pins(case, digest, pins))


def _recount(plan: Plan, task: CompactionTask) -> Plan:
    """Return the plan with its tokens counted again."""
    after = VerificationContext(plan, task).tokens_after
    saved = plan.tokens_after - after
    rungs = [operation.rung for operation in plan.operations if isinstance(operation, Condense)]
    freed = tuple(
        replace(step, tokens=step.tokens + saved) if step.rung in rungs[-1:] else step for step in plan.freed
    )
    return replace(plan, tokens_after=after, freed=freed)
