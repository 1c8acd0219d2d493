"""Check a compaction before it takes effect. See README.md."""

from clew.compaction.verify.checks import (
    CHECKS,
    Check,
    count_values,
    losses_in_full,
    preview,
    render_report,
    verify,
)
from clew.compaction.verify.repair import repair
from clew.compaction.verify.report import Finding, Level, LossKind, LostItem, Report, SurvivalCount

__all__ = [
    "CHECKS",
    "Check",
    "Finding",
    "Level",
    "LossKind",
    "LostItem",
    "Report",
    "SurvivalCount",
    "count_values",
    "losses_in_full",
    "preview",
    "render_report",
    "repair",
    "verify",
]
