"""A compaction as data: digests, claims, operations, plans. See README.md."""

from clew.compaction.plan.digest import Claim, ClaimKind, Digest, RuleQuote, Topic
from clew.compaction.plan.plan import Condense, Drop, Freed, Operation, Plan, Rung, Shrink

__all__ = [
    "Claim",
    "ClaimKind",
    "Condense",
    "Digest",
    "Drop",
    "Freed",
    "Operation",
    "Plan",
    "RuleQuote",
    "Rung",
    "Shrink",
    "Topic",
]
