"""Find standing rules in what people write, and the words that end them. See README.md."""

from clew.ledger.constraints.find import find, find_candidates
from clew.ledger.constraints.retire import retire
from clew.ledger.constraints.values import (
    Constraint,
    Duration,
    Force,
    Found,
    How,
    Kind,
    Lasts,
    Reason,
    Retirement,
    Scope,
    Span,
    Strength,
)

__all__ = [
    "Constraint",
    "Duration",
    "Force",
    "Found",
    "How",
    "Kind",
    "Lasts",
    "Reason",
    "Retirement",
    "Scope",
    "Span",
    "Strength",
    "find",
    "find_candidates",
    "retire",
]
