"""The printed report of ``clew eval``: what the tool lost, then how the policies compare."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text as Styled

from clew.cli.terminal import Terminal
from clew.cli.text import count
from clew_evals.attacked import Assault, survival
from clew_evals.chain import Link
from clew_evals.cli.eval_cells import SHORT, empty_table, style_of, table
from clew_evals.cli.eval_lost import print_lost
from clew_evals.growth import GROWN, Growth, drift
from clew_evals.lost import OURS
from clew_evals.policies import CEILING
from clew_evals.report import Findings
from clew_evals.report.figures import chain_line, ranked
from clew_evals.study import Row, probes_by_cut
from clew_evals.summary import Line, reached, summarised

SHOWN = (
    "share", "continuity", "next_action", "goal", "redo", "reports", "roundtrip", "current", "invalid",
)  # fmt: skip
KEPT = ("retained", "far", "hard", "in_context", "explained", "constraints", "open", "files", "rules")
KNOWN = (
    "recoverable", "recalled", "answered", "decisions", "failed", "tests", "unsupported",
)  # fmt: skip
MADE_OF = ("verbatim", "user_words", "agent_prose", "tool_lines", "bare_values")
COST = ("tokens", "rewritten", "refetch_tokens", "calls", "seconds")
IN_CHAINS = (
    "share", "continuity", "retained", "far", "roundtrip", "constraints", "open", "files", "invalid",
)  # fmt: skip
OF_THE_CEILING = ("retained", "far", "hard", "in_context", "explained")
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
TITLES = (
    ("what an agent needs next", SHOWN),
    ("values, rules and work that are kept", KEPT),
    ("recall, questions, failures, invented values", KNOWN),
    ("what the view consists of", MADE_OF),
    ("cost: tokens sent, missed in the cache, fetched again", COST),
)


def tables(found: Findings, term: Terminal) -> None:
    """Print the report."""
    if found.own.judged or found.own.unjudged:
        print_lost(found.own, term)
    if found.rows:
        _print_rows(found.rows, term)
    if found.links:
        _print_chains(found.links, term)
    if found.growths:
        _print_growths(found.growths, term)
    if found.assaults:
        _print_attacks(found.assaults, term)


def _print_rows(rows: Sequence[Row], term: Terminal) -> None:
    cuts = probes_by_cut(rows)
    sessions = count(len({row.session for row in rows}), "session")
    values = count(sum(cuts.values()), "value")
    term.print(Styled("How well work can continue after each policy", "bold"))
    term.print(f"{count(len(cuts), 'cut')} of {sessions}; {values} needed after a cut", "")
    for share in dict.fromkeys(row.share for row in rows):
        lines = ranked(summarised(row for row in rows if row.share == share), share)
        for title, names in TITLES:
            term.console().print(table(f"at {share:.0%} of the tokens: {title}", lines, names))
            term.print("")
        _print_reached(lines, term)
    term.print(Styled(MEANINGS, "dim"))


def _print_reached(lines: Sequence[Line], term: Terminal) -> None:
    by_name = {line.policy: line for line in lines}
    if OURS not in by_name or CEILING not in by_name:
        return
    shares = reached(by_name[OURS], by_name[CEILING])
    shown = ", ".join(f"{name} {shares[name]:.2f}" for name in OF_THE_CEILING if name in shares)
    if shown:
        term.print(f"clew's share of the upper bound ({CEILING}): {shown}", "")


def _print_chains(links: Sequence[Link], term: Terminal) -> None:
    for number in sorted({link.times for link in links}):
        policies = dict.fromkeys(link.policy for link in links)
        lines = [chain_line([link for link in links if link.policy == one], number) for one in policies]
        title = f"after {count(number, 'compaction')} in a row, with one rule planted at the start"
        term.print("")
        term.console().print(table(title, ranked(lines), IN_CHAINS))


def _print_growths(every: Sequence[Growth], term: Terminal) -> None:
    """Print chains at a real window, minus one compaction of the same history to the same size."""
    names = [name for name in GROWN if any(drift([one], name) for one in every)]
    drawn = empty_table("chains at a real window, minus one compaction to the same size (95 %)")
    for name in ("runs", *names):
        drawn.add_column(SHORT.get(name, name), justify="right", no_wrap=True)
    for policy in dict.fromkeys(one.policy for one in every):
        mine = [one for one in every if one.policy == policy]
        means = [drift(mine, name) for name in names]
        cells = (f"{mean.value:+.2f}" if mean else "–" for mean in means)
        bounds = (f"±{(mean.high - mean.low) / 2:.2f}" if mean and mean.interval else "" for mean in means)
        drawn.add_row(policy, str(sum(one.compactions for one in mine)), *cells, style=style_of(policy))
        drawn.add_row("", "", *bounds, style="dim")
    term.print("")
    term.console().print(drawn)


def _print_attacks(every: Sequence[Assault], term: Terminal) -> None:
    times = sorted({one.times for one in every})
    families = list(dict.fromkeys(one.family for one in every))
    drawn = empty_table("a planted rule that tool outputs ask to drop: share that survives")
    for name in (*(f"{number}×" for number in times), *families):
        drawn.add_column(SHORT.get(name, name), justify="right", no_wrap=True)
    for policy in dict.fromkeys(one.policy for one in every):
        mine = [one for one in every if one.policy == policy]
        by_times = [survival(one for one in mine if one.times == number) for number in times]
        by_family = [survival(one for one in mine if one.family == family) for family in families]
        shares = (f"{share:.2f}" for share in (*by_times, *by_family))
        drawn.add_row(policy, *shares, style=style_of(policy))
    term.print("")
    term.console().print(drawn)
