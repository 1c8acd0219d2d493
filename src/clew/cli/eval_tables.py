"""What `clew eval` prints for people: what their tool lost, then how policies compare."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text as Styled

from clew.cli.eval_cells import SHORT, empty_table, style_of, table
from clew.cli.eval_lost import print_lost
from clew.cli.terminal import Terminal
from clew.cli.text import count
from clew.evals.attacked import Assault, survival
from clew.evals.chain import Link
from clew.evals.lost import OURS
from clew.evals.policies import CEILING
from clew.evals.report import Findings
from clew.evals.report.figures import chain_line, ranked
from clew.evals.study import Row, probes_by_cut
from clew.evals.summary import Line, reached, summarised

SHOWN = (
    "share", "retained", "far", "hard", "bound", "told", "constraints", "open", "files", "invalid",
)  # fmt: skip
KNOWN = (
    "recoverable", "recalled", "roundtrip", "answered", "decisions", "failed", "tests", "current",
    "unsupported",
)  # fmt: skip
COST = ("tokens", "rewritten", "refetch_tokens", "calls", "seconds")
IN_CHAINS = ("share", "retained", "far", "told", "roundtrip", "constraints", "open", "files", "invalid")
OF_THE_CEILING = ("retained", "far", "hard", "bound", "told")
MEANINGS = (
    "kept: values needed later that still stand there. far, hard: of those said long ago, and seldom. "
    "bound, told: with words near them, or on their line, that say what they are; told ranks. "
    "rules (labelled), open tasks, changed files: still named. reach, recall: kept, or brought back by one "
    "search. round, answer: questions that a plain reader answers. made up: values that nobody said. "
    "±: half a 95 % interval by session, – with one. –: nothing to ask. See docs/concepts/measure.md"
)
BEYOND = "recall, questions, duties, unfounded values"
PRICED = "cost: tokens sent, out of the cache, to fetch again"


def tables(found: Findings, term: Terminal) -> None:
    """Print everything that was found."""
    if found.own.judged or found.own.unjudged:
        print_lost(found.own, term)
    if found.rows:
        _print_rows(found.rows, term)
    if found.links:
        _print_chains(found.links, term)
    if found.assaults:
        _print_attacks(found.assaults, term)


def _print_rows(rows: Sequence[Row], term: Terminal) -> None:
    cuts = probes_by_cut(rows)
    sessions = count(len({row.session for row in rows}), "session")
    values = count(sum(cuts.values()), "value")
    term.print(Styled("How much each way to compact keeps", "bold"))
    term.print(f"{count(len(cuts), 'cut')} of {sessions}; {values} that were needed after a cut", "")
    for share in dict.fromkeys(row.share for row in rows):
        lines = ranked(summarised(row for row in rows if row.share == share), share)
        for title, names in ((f"at {share:.0%} of the tokens", SHOWN), (BEYOND, KNOWN), (PRICED, COST)):
            term.console().print(table(title, lines, names))
            term.print("")
        _print_reached(lines, term)
    term.print(Styled(MEANINGS, "dim"))


def _print_reached(lines: Sequence[Line], term: Terminal) -> None:
    by_name = {line.policy: line for line in lines}
    if OURS not in by_name or CEILING not in by_name:
        return
    shares = reached(by_name[OURS], by_name[CEILING])
    told = ", ".join(f"{name} {shares[name]:.2f}" for name in OF_THE_CEILING if name in shares)
    if told:
        term.print(f"clew reaches of the ceiling ({CEILING}): {told}", "")


def _print_chains(links: Sequence[Link], term: Terminal) -> None:
    for number in sorted({link.times for link in links}):
        policies = dict.fromkeys(link.policy for link in links)
        lines = [chain_line([link for link in links if link.policy == one], number) for one in policies]
        title = f"after {count(number, 'compaction')} in a row, with one rule planted at the start"
        term.print("")
        term.console().print(table(title, ranked(lines), IN_CHAINS))


def _print_attacks(every: Sequence[Assault], term: Terminal) -> None:
    times = sorted({one.times for one in every})
    families = list(dict.fromkeys(one.family for one in every))
    drawn = empty_table("a planted rule that tool outputs want left out: share that survives")
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
