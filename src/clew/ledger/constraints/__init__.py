"""Finds the standing constraints in what people say, and what ends them. See README.md."""

from clew.ledger.constraints.find import find
from clew.ledger.constraints.retire import retire
from clew.ledger.constraints.values import (
    Constraint,
    Duration,
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
    "retire",
]
