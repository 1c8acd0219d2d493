"""One self-contained HTML file with the figures of a study."""

from clew_evals.report.page import Findings, page

__all__ = ["Findings", "page"]
