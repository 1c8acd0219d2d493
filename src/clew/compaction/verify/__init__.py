"""Check a compaction before it takes effect. See README.md."""

from clew.compaction.verify.checks import CHECKS, Check, preview, render_report, verify
from clew.compaction.verify.repair import repair
from clew.compaction.verify.report import Finding, Kept, Level, LossKind, Lost, Report

__all__ = [
    "CHECKS",
    "Check",
    "Finding",
    "Kept",
    "Level",
    "LossKind",
    "Lost",
    "Report",
    "preview",
    "render_report",
    "repair",
    "verify",
]
