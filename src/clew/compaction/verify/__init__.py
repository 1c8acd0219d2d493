"""Check a compaction before it takes effect. See README.md."""

from clew.compaction.verify.checks import CHECKS, Check, verify
from clew.compaction.verify.evidence import Evidence, LedgerEntry
from clew.compaction.verify.repair import repair
from clew.compaction.verify.report import Finding, Kept, Level, Lost, Matter, Report
from clew.compaction.verify.show import preview, render_report

__all__ = [
    "CHECKS",
    "Check",
    "Evidence",
    "Finding",
    "Kept",
    "LedgerEntry",
    "Level",
    "Lost",
    "Matter",
    "Report",
    "preview",
    "render_report",
    "repair",
    "verify",
]
