"""Find standing rules in what people write, and the words that end them. See README.md."""

from clew.rules.find import find, find_candidates
from clew.rules.retire import retire
from clew.rules.values import (
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
