"""Tables of ``clew eval``: a row per policy, policies that keep to the token budget first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from clew_evals.report.figures import is_apart
from clew_evals.summary import HEADLINE, Line

WHOLE = ("tokens", "rewritten", "refetch_tokens")
"""Columns shown without decimals."""
SHORT = {
    "constraints": "rules",
    "retained": "kept",
    "rules": "(found)",
    "recoverable": "reach",
    "recalled": "recall",
    "roundtrip": "round",
    "continuity": "go on",
    "next_action": "next",
    "in_context": "context",
    "explained": "explain",
    "user_words": "user",
    "agent_prose": "agent",
    "tool_lines": "tools",
    "bare_values": "values",
    "answered": "answer",
    "decisions": "decided",
    "unsupported": "made up",
    "refetch_tokens": "refetch",
    "translated": "foreign",
}
"""Short column heads, so that all tables fit 80 columns."""


def table(title: str, lines: Sequence[Line], names: Sequence[str]) -> Table:
    """Return a table of some metrics, without columns that are empty for every policy."""
    drawn = empty_table(title)
    names = [name for name in names if any(name in line.means for line in lines)]
    for name in names:
        drawn.add_column(SHORT.get(name, name), justify="right", no_wrap=True)
    for line in lines:
        drawn.add_row(line.policy, *(_cell(line, name) for name in names), style=style_of(line.policy))
    return drawn


def empty_table(title: str) -> Table:
    """Return a table without rows."""
    drawn = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        header_style="dim",
        padding=(0, 1, 0, 0),
    )
    drawn.add_column("policy", no_wrap=True, min_width=15)
    return drawn


def style_of(policy: str) -> str:
    """Return the style of a policy's row."""
    return "bold" if policy == "clew" else "dim" if is_apart(policy) else ""


def _cell(line: Line, name: str) -> str:
    mean = line.means.get(name)
    if mean is None:
        return "–"
    if name == HEADLINE:
        half = f"{(mean.high - mean.low) / 2:.2f}" if mean.interval else "–"
        return f"{mean.value:.2f}±{half}"
    return f"{mean.value:,.0f}" if name in WHOLE else f"{mean.value:.2f}"
