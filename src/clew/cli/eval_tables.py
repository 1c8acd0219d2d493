"""What `clew eval` prints: tables for people, figures for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.table import Table
from rich.text import Text as Styled

from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line
from clew.evals.attacked import Assault, survival
from clew.evals.chain import Link
from clew.evals.lost import Lost
from clew.evals.report import Findings
from clew.evals.report.figures import chain_line, is_apart, ranked
from clew.evals.study import Row, usual_budget
from clew.evals.summary import HEADLINE, Line, agreement, summarised
from clew.message import Json, JsonObject

SHOWN = (
    "share", "retained", "far", "hard", "bound", "told", "constraints", "open", "files", "invalid", "seconds",
)  # fmt: skip
KNOWN = ("recoverable", "recalled", "roundtrip", "answered", "failed", "tests", "current", "unsupported")
COST = ("tokens", "rewritten", "refetch_tokens", "calls", "seconds")
WHOLE = ("tokens", "rewritten", "refetch_tokens")
"""Told without a fraction."""
IN_CHAINS = ("share", "retained", "far", "told", "constraints", "open", "files", "invalid")
AGREEING = (HEADLINE, "bound", "retained", "hard")
LATEST = 5
VALUES_TOLD = 6
BEYOND = "what one recall brings back, questions, failures, tests, replaced values, unfounded values"
PRICED = "what it costs: tokens sent, tokens that leave the cache, tokens to fetch again, calls of a model"
SHORT = {
    "constraints": "rules",
    "retained": "kept",
    "recoverable": "in reach",
    "roundtrip": "round",
    "unsupported": "unfounded",
    "refetch_tokens": "refetch",
}
"""What does not fit a column."""


def figures(found: Findings) -> JsonObject:
    """Return the figures over all, and for each set."""
    rows = found.rows
    cuts = _cuts(rows)
    sets = list(dict.fromkeys(row.set for row in rows))
    told: JsonObject = {
        "cuts": len(cuts),
        "sessions": len({row.session for row in rows}),
        "probes": sum(cuts.values()),
        "ranked_by": HEADLINE,
        "policies": _by_policy(summarised(rows)),
        "sets": {name: _by_policy(summarised(row for row in rows if row.set == name)) for name in sets},
        "agreement": {metric: _tau(rows, metric) for metric in AGREEING if rows},
    }
    if found.links:
        told["chains"] = _chains(found.links)
    if found.assaults:
        told["attacks"] = _attacks(found.assaults)
    if found.lost:
        lost: list[Json] = [one.to_json() for one in found.lost]
        told["compactions"] = {"policies": _by_policy(_lost_lines(found.lost)), "each": lost}
    return told


def _cuts(rows: Sequence[Row]) -> dict[tuple[str, float], int]:
    return {(row.session, row.at): row.probes for row in rows}


def _by_policy(lines: Sequence[Line]) -> JsonObject:
    """Return the lines by policy; with several budgets, each policy's lines by budget."""
    if len({line.share for line in lines}) == 1:
        return {line.policy: line.to_json() for line in lines}
    found: dict[str, JsonObject] = {}
    for line in lines:
        found.setdefault(line.policy, {})[f"{line.share:g}"] = line.to_json()
    return dict(found)


def _tau(rows: Sequence[Row], metric: str) -> JsonObject:
    budget = usual_budget(row.share for row in rows)
    found = agreement([row for row in rows if row.share == budget], metric)
    return {"mean_tau": round(found.mean, 3), "worst_tau": round(found.worst, 3)}


def _chains(links: Sequence[Link]) -> JsonObject:
    found: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(link.policy for link in links):
        mine = [link for link in links if link.policy == policy]
        times = sorted({link.times for link in mine})
        found[policy] = {str(number): chain_line(mine, number).to_json() for number in times}
    return dict(found)


def _attacks(every: Sequence[Assault]) -> JsonObject:
    """Return by policy the share of rules that survived: by the number of compactions, and by family."""
    found: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(one.policy for one in every):
        mine = [one for one in every if one.policy == policy]
        found[policy] = {
            **_survivals(mine, lambda one: str(one.times)),
            "families": _survivals(mine, lambda one: one.family),
            "attacks": len(mine),
        }
    return dict(found)


def _survivals(some: Sequence[Assault], of: Callable[[Assault], str]) -> JsonObject:
    names = dict.fromkeys(map(of, some))
    return {name: round(survival(one for one in some if of(one) == name), 4) for name in names}


def _lost_lines(lost: Sequence[Lost]) -> list[Line]:
    # Each compaction had a budget of its own; they are averaged as one.
    return summarised(replace(row, share=0.0) for one in lost for row in one.rows())


def tables(found: Findings, term: Terminal) -> None:
    """Print everything that was found."""
    rows = found.rows
    if rows:
        cuts = _cuts(rows)
        sessions = count(len({row.session for row in rows}), "session")
        values = count(sum(cuts.values()), "needed value")
        term.print(Styled(f"{count(len(cuts), 'cut')} of {sessions}, {values}", "bold"))
        term.print(Styled("± is half a 95 % interval by session; seconds are without any model", "dim"), "")
    for share in dict.fromkeys(row.share for row in rows):
        lines = summarised(row for row in rows if row.share == share)
        for title, names in ((f"at {share:.0%} of the tokens", SHOWN), (BEYOND, KNOWN), (PRICED, COST)):
            term.console().print(_table(title, ranked(lines), names))
            term.print("")
    if found.links:
        _print_chains(found.links, term)
    if found.assaults:
        _print_attacks(found.assaults, term)
    if found.lost:
        _print_lost(found.lost, term)


def _print_attacks(every: Sequence[Assault], term: Terminal) -> None:
    times = sorted({one.times for one in every})
    families = list(dict.fromkeys(one.family for one in every))
    table = _empty_table("a planted rule that tool outputs want left out: share that survives")
    for name in (*(f"{number}×" for number in times), *families):
        table.add_column(name, justify="right", no_wrap=True)
    for policy in dict.fromkeys(one.policy for one in every):
        mine = [one for one in every if one.policy == policy]
        by_times = [survival(one for one in mine if one.times == number) for number in times]
        by_family = [survival(one for one in mine if one.family == family) for family in families]
        table.add_row(policy, *(f"{share:.2f}" for share in (*by_times, *by_family)), style=_style(policy))
    term.print("")
    term.console().print(table)


def _print_chains(links: Sequence[Link], term: Terminal) -> None:
    for number in sorted({link.times for link in links}):
        policies = dict.fromkeys(link.policy for link in links)
        lines = [chain_line([link for link in links if link.policy == one], number) for one in policies]
        title = f"after {count(number, 'compaction')} in a row, with one rule planted at the start"
        term.print("")
        term.console().print(_table(title, ranked(lines), IN_CHAINS))


def _print_lost(lost: Sequence[Lost], term: Terminal) -> None:
    title = f"what {count(len(lost), 'compaction')} of their own tools left, and clew in as many tokens"
    term.print("")
    term.console().print(_table(title, _lost_lines(lost), SHOWN))
    term.print("", *map(Styled, _in_words(lost)))
    newest = sorted(lost, key=lambda one: one.time or "", reverse=True)[:LATEST]
    for one in newest:
        sizes = f"{one.tokens_before:,} tokens became {one.tokens_after:,}"
        when = (one.time or "").replace("T", " ")[:16]
        term.print("", Styled(f"{when}  {one.format}: {sizes}", "bold"), Styled(f"  {one.path.name}", "dim"))
        for what, gone in _gone(one):
            if gone:
                some = ", ".join(gone[:VALUES_TOLD])
                term.print(f"  lost {one_line(f'{what}: {some}', term.console().width - 7)}")


def _in_words(lost: Sequence[Lost]) -> Iterator[str]:
    """Yield what the compactions lost, all together, as a person would say it."""
    theirs, ours = ([getattr(one, side).refetch_tokens or 0.0 for one in lost] for side in ("score", "ours"))
    values, rules, tasks, changed = (
        sum(len(getattr(one, name)) for one in lost) for name in ("values", "rules", "open", "files")
    )
    gone = (
        count(values, "value"),
        count(rules, "rule"),
        count(tasks, "open task"),
        count(changed, "changed file"),
    )
    yield f"Together they lost {', '.join(gone[:-1])} and {gone[-1]}."
    each = sum(theirs) / len(theirs)
    yield (
        f"To fetch again what was needed later takes {each:,.0f} tokens each time; "
        f"after clew's it would take {sum(ours) / len(ours):,.0f}."
    )


def _gone(one: Lost) -> list[tuple[str, list[str]]]:
    """Return what a compaction lost, by what it is."""
    again = [probe.key for probe in one.values if probe.refetched]
    other = [probe.key for probe in one.values if not probe.refetched]
    return [
        (count(len(one.rules), "rule"), list(one.rules)),
        (count(len(one.open), "open task"), list(one.open)),
        (count(len(one.files), "changed file"), [Path(name).name for name in one.files]),
        (f"{count(len(other), 'value')} needed later", other),
        (f"{count(len(again), 'value')} fetched again later", again),
    ]


def _table(title: str, lines: Sequence[Line], names: Sequence[str]) -> Table:
    table = _empty_table(title)
    for name in names:
        table.add_column(SHORT.get(name, name), justify="right", no_wrap=True)
    for line in lines:
        table.add_row(line.policy, *(_cell(line, name) for name in names), style=_style(line.policy))
    return table


def _empty_table(title: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, header_style="dim")
    table.add_column("policy", no_wrap=True, min_width=15)
    return table


def _style(policy: str) -> str:
    return "bold" if policy == "clew" else "dim" if is_apart(policy) else ""


def _cell(line: Line, name: str) -> str:
    mean = line.means.get(name)
    if mean is None:
        return "–"
    if name == HEADLINE:
        return f"{mean.value:.2f}±{(mean.high - mean.low) / 2:.2f}"
    return f"{mean.value:,.0f}" if name in WHOLE else f"{mean.value:.2f}"
