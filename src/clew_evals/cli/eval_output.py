"""The tables that ``clew eval`` prints: a row per policy, a column per figure.

With ``--json`` every figure is written instead (``figures`` of ``eval.py``), with ``--html`` a page
(``report/``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text as Styled

from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line
from clew_evals.attacks import Assault, survival_share
from clew_evals.chains import GROWN, Growth, Link, mean_drift
from clew_evals.composition import KINDS
from clew_evals.policies import CEILING
from clew_evals.report import Findings
from clew_evals.report.figures import chain_line, is_apart, rank_lines
from clew_evals.study import StudyRow, probes_by_cut
from clew_evals.summary import HEADLINE, ResultLine, share_of_ceiling, summarise_rows
from clew_evals.tool_compactions import (
    OURS,
    OwnCompactions,
    ToolLoss,
    loss_sentences,
    newest_losses,
    tool_and_clew_lines,
    use_of,
)

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
TABLES = {
    "what an agent needs next": (
        "share", "continuity", "next_action", "goal", "redo", "reports", "roundtrip", "current", "invalid",
    ),
    "values, rules and work that are kept": (
        "retained", "far", "hard", "in_context", "explained", "constraints", "open", "files", "rules",
    ),
    "recall, questions, failures, invented values": (
        "recoverable", "recalled", "answered", "decisions", "failed", "tests", "unsupported",
    ),
    "what the view consists of": KINDS,
    "cost: tokens sent, missed in the cache, fetched again": (
        "tokens", "rewritten", "refetch_tokens", "calls", "seconds",
    ),
}  # fmt: skip
"""The tables of each budget: title and columns."""
IN_CHAINS = (
    "share", "continuity", "retained", "far", "roundtrip", "constraints", "open", "files", "invalid",
)  # fmt: skip
"""Columns after a chain of compactions."""
COMPARED = (
    "share", "retained", "far", "hard", "in_context", "explained", "constraints", "rules", "open", "files",
    "failed",
)  # fmt: skip
"""Columns of the sessions' own tools next to clew."""
OF_THE_CEILING = ("retained", "far", "hard", "in_context", "explained")
"""Figures of which clew's share of the upper bound is said."""
MEANINGS = (
    "go on: mean of the next five, less redo; ranks. next: targets and reasons of the first three calls "
    "after the cut. goal: stated rightly. redo: finished, overruled, deleted things shown as open or valid. "
    "reports: the agent's end-of-turn reports, whole sentences. round: questions about the history that a "
    "plain reader answers. current: replaced values, the new one said last. kept: values needed later that "
    "are in view; far, hard: of those stated long ago, and seldom. context, explain: with words of their "
    "source near, or on their line. rules (labelled), open tasks, changed files: still named. reach, recall: "
    "kept, or found by one search. made up: values never stated. "
    "±: half a 95 % interval by session, – with one. –: nothing to ask. See docs/concepts/measure.md"
)
LATEST = 5
"""Compactions of the sessions' own tools that are listed one by one."""
USES_SHOWN = 3
NAMES_SHOWN = 6
"""For each of these, lost values shown with their use; names in a list."""


def tables(findings: Findings, term: Terminal) -> None:
    """Print a table for each part of the study that was run."""
    if findings.own.judged or findings.own.unjudged:
        _print_lost(findings.own, term)
    if findings.rows:
        _print_rows(findings.rows, term)
    if findings.links:
        _print_chains(findings.links, term)
    if findings.growths:
        _print_growths(findings.growths, term)
    if findings.assaults:
        _print_attacks(findings.assaults, term)


def _table(title: str, lines: Sequence[ResultLine], names: Sequence[str]) -> Table:
    """Return a table of some metrics, without columns that are empty for every policy."""
    drawn = _empty_table(title)
    names = [name for name in names if any(name in line.means for line in lines)]
    for name in names:
        drawn.add_column(SHORT.get(name, name), justify="right", no_wrap=True)
    for line in lines:
        drawn.add_row(line.policy, *(_cell(line, name) for name in names), style=_style_of(line.policy))
    return drawn


def _empty_table(title: str) -> Table:
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


def _style_of(policy: str) -> str:
    """Return the style of a policy's row."""
    return "bold" if policy == OURS else "dim" if is_apart(policy) else ""


def _cell(line: ResultLine, name: str) -> str:
    mean = line.means.get(name)
    if mean is None or name != HEADLINE:
        return line.cell(name)
    half = f"{(mean.high - mean.low) / 2:.2f}" if mean.interval else "–"
    return f"{mean.value:.2f}±{half}"


def _print_lost(own: OwnCompactions, term: Terminal) -> None:
    """Print what was lost: in words, then in figures next to clew's, then per compaction."""
    term.print(
        Styled("What your tool lost at its own compactions", "bold"), *map(Styled, loss_sentences(own)), ""
    )
    if not own.judged:
        return
    title = "as shares: its own tool, and clew with as many tokens"
    term.console().print(_table(title, tool_and_clew_lines(own.judged), COMPARED))
    for loss in newest_losses(own.judged, LATEST):
        _print_one(loss, term)
    term.print("")


def _print_one(loss: ToolLoss, term: Terminal) -> None:
    when = (loss.time or "").replace("T", " ")[:16]
    sizes = f"{loss.tokens_before:,} tokens became {loss.tokens_after:,}"
    term.print("", Styled(f"{when}  {loss.format}: {sizes}", "bold"), Styled(f"  {loss.path.name}", "dim"))
    room = term.console().width - 2
    term.print(*(f"  {one_line(line, room)}" for line in _losses(loss)))


def _losses(loss: ToolLoss) -> Iterator[str]:
    """Yield what a compaction lost, a line per kind; for values used later, where they were used."""
    files = [Path(name).name for name in loss.files]
    for what, gone in (("rule", loss.rules), ("open task", loss.open), ("changed file", files)):
        if gone:
            yield f"lost {count(len(gone), what)}: {', '.join(gone[:NAMES_SHOWN])}"
    needed = [probe for probe in loss.values if not probe.refetched]
    again = [probe.key for probe in loss.values if probe.refetched]
    for probe in needed[:USES_SHOWN]:
        yield f"lost {probe.key}, needed in: …{''.join(use_of(probe))}…"
    if more := [probe.key for probe in needed[USES_SHOWN:]]:
        yield f"lost {count(len(more), 'more value')} needed later: {', '.join(more[:NAMES_SHOWN])}"
    if again:
        yield f"lost {count(len(again), 'value')} to be fetched again: {', '.join(again[:NAMES_SHOWN])}"
    if not (loss.rules or loss.open or loss.files or loss.values):
        yield "lost nothing that was needed later"


def _print_rows(rows: Sequence[StudyRow], term: Terminal) -> None:
    cuts = probes_by_cut(rows)
    sessions = count(len({row.session for row in rows}), "session")
    values = count(sum(cuts.values()), "value")
    term.print(Styled("How well work can continue after each policy", "bold"))
    term.print(f"{count(len(cuts), 'cut')} of {sessions}; {values} needed after a cut", "")
    for share in dict.fromkeys(row.share for row in rows):
        lines = rank_lines(summarise_rows(row for row in rows if row.share == share), share)
        for title, names in TABLES.items():
            term.console().print(_table(f"at {share:.0%} of the tokens: {title}", lines, names))
            term.print("")
        _print_reached(lines, term)
    term.print(Styled(MEANINGS, "dim"))


def _print_reached(lines: Sequence[ResultLine], term: Terminal) -> None:
    by_name = {line.policy: line for line in lines}
    if OURS not in by_name or CEILING not in by_name:
        return
    shares = share_of_ceiling(by_name[OURS], by_name[CEILING])
    shown = ", ".join(f"{name} {shares[name]:.2f}" for name in OF_THE_CEILING if name in shares)
    if shown:
        term.print(f"clew's share of the upper bound ({CEILING}): {shown}", "")


def _print_chains(links: Sequence[Link], term: Terminal) -> None:
    for number in sorted({link.times for link in links}):
        policies = dict.fromkeys(link.policy for link in links)
        lines = [chain_line([link for link in links if link.policy == policy], number) for policy in policies]
        title = f"after {count(number, 'compaction')} in a row, with one rule planted at the start"
        term.print("")
        term.console().print(_table(title, rank_lines(lines), IN_CHAINS))


def _print_growths(every: Sequence[Growth], term: Terminal) -> None:
    """Print chains at a real window, minus one compaction of the same history to the same size."""
    names = [name for name in GROWN if any(mean_drift([growth], name) for growth in every)]
    drawn = _empty_table("chains at a real window, minus one compaction to the same size (95 %)")
    for name in ("runs", *names):
        drawn.add_column(SHORT.get(name, name), justify="right", no_wrap=True)
    for policy in dict.fromkeys(growth.policy for growth in every):
        mine = [growth for growth in every if growth.policy == policy]
        means = [mean_drift(mine, name) for name in names]
        cells = (f"{mean.value:+.2f}" if mean else "–" for mean in means)
        bounds = (f"±{(mean.high - mean.low) / 2:.2f}" if mean and mean.interval else "" for mean in means)
        drawn.add_row(
            policy, str(sum(growth.compactions for growth in mine)), *cells, style=_style_of(policy)
        )
        drawn.add_row("", "", *bounds, style="dim")
    term.print("")
    term.console().print(drawn)


def _print_attacks(every: Sequence[Assault], term: Terminal) -> None:
    times = sorted({assault.times for assault in every})
    families = list(dict.fromkeys(assault.family for assault in every))
    drawn = _empty_table("a planted rule that tool outputs ask to drop: share that survives")
    for name in (*(f"{number}×" for number in times), *families):
        drawn.add_column(SHORT.get(name, name), justify="right", no_wrap=True)
    for policy in dict.fromkeys(assault.policy for assault in every):
        mine = [assault for assault in every if assault.policy == policy]
        by_times = [
            survival_share(assault for assault in mine if assault.times == number) for number in times
        ]
        by_family = [
            survival_share(assault for assault in mine if assault.family == family) for family in families
        ]
        shares = (f"{share:.2f}" for share in (*by_times, *by_family))
        drawn.add_row(policy, *shares, style=_style_of(policy))
    term.print("")
    term.console().print(drawn)
