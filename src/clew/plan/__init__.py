"""A compaction as data: digests, claims, operations, plans. See README.md."""

from clew.plan.digest import Claim, ClaimKind, Digest, Pin
from clew.plan.plan import Condense, Drop, Freed, Operation, Plan, Rung, Shrink

__all__ = [
    "Claim",
    "ClaimKind",
    "Condense",
    "Digest",
    "Drop",
    "Freed",
    "Operation",
    "Pin",
    "Plan",
    "Rung",
    "Shrink",
]
