"""Find standing rules in what people write, and the words that end them. See README.md."""

from clew.rules.find import find, find_candidates
from clew.rules.retire import retire
from clew.rules.rule import (
    Duration,
    Force,
    How,
    Kind,
    Lasts,
    MadeBy,
    Pin,
    Reason,
    Retirement,
    Rule,
    RuleRef,
    RuleStatus,
    Scope,
    Span,
    Strength,
)

__all__ = [
    "Duration",
    "Force",
    "How",
    "Kind",
    "Lasts",
    "MadeBy",
    "Pin",
    "Reason",
    "Retirement",
    "Rule",
    "RuleRef",
    "RuleStatus",
    "Scope",
    "Span",
    "Strength",
    "find",
    "find_candidates",
    "retire",
]
