"""``clew eval``: measure what compactions keep, on real sessions.

``run`` measures; ``figures`` is what ``--json`` writes, ``eval_output.py`` prints tables, ``report/`` a page.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from clew.cli.inputs import open_input
from clew.cli.terminal import Terminal
from clew.errors import InputError, NotFound
from clew.message import Json, JsonObject
from clew_evals import POLICIES, SessionFile, Study, labels_near, read_labels, session_files, study
from clew_evals.answerers import try_reader
from clew_evals.attacks import Assault, EvictionAttack, eviction_attacks, run_attacks, survival_share
from clew_evals.chains import GROWN, Growth, Link, mean_drift, run_chains, run_growths
from clew_evals.cli.eval_output import tables
from clew_evals.policies import CEILING, UNCUT, USUAL
from clew_evals.report import Findings, page
from clew_evals.report.figures import chain_line
from clew_evals.study import Progress, StudyRow, common_keys, probes_by_cut, usual_budget
from clew_evals.summary import HEADLINE, ResultLine, agreement, share_of_ceiling, summarise_rows
from clew_evals.tool_compactions import OURS, lost_by_tools, tool_and_clew_lines


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Run the measurement and print the results."""
    paths = [_path(name) for name in args.paths]
    files = session_files(paths)
    labels = read_labels(args.labels) if args.labels else labels_near(paths)
    names = dict.fromkeys([*(args.policy or USUAL), *((UNCUT, CEILING) if args.ceiling else ())])
    for name in names.keys() - POLICIES.keys():
        raise InputError(f"unknown policy {name!r}", f"use one of {', '.join(POLICIES)}")
    chosen = tuple(POLICIES[name] for name in names)
    plan = Study(
        chosen, args.share, least_tokens=args.least, labels=labels, jobs=args.jobs, reader=args.reader
    )
    try_reader(args.reader)
    texts = eviction_attacks(args.attacks) if args.attack or args.attacks else []
    with drawn_progress(term) as progress:
        findings = _findings(files, plan, args, texts, progress)
    if not findings.rows and not findings.own.judged and not findings.own.unjudged:
        raise NotFound(
            f"no session of at least {args.least:,} tokens in {', '.join(args.paths)}", "try --least 1000"
        )
    if args.html:
        args.html.write_text(page(findings), encoding="utf-8")
        term.note(f"wrote {args.html}")
    if args.json:
        term.write(json.dumps(figures(findings)))
    else:
        tables(findings, term)
    return 0


def _findings(
    files: list[SessionFile],
    plan: Study,
    args: argparse.Namespace,
    texts: list[EvictionAttack],
    progress: Progress | None,
) -> Findings:
    common = common_keys(files, plan, progress)
    rows = study(files, plan, common, progress)
    own = lost_by_tools(files, plan, common, progress)
    links = run_chains(files, plan, common, progress) if args.chain else []
    grown = run_growths(files, plan, common, args.grow, progress) if args.grow else []
    attacks = run_attacks(files, plan, texts, progress) if texts else []
    return Findings(rows, links, own, shlex.join(["clew", *sys.argv[1:]]), attacks, grown)


def _path(name: str) -> Path:
    path = Path(name).expanduser()
    if path.exists():
        return path
    result = open_input(name).path
    if result is None:
        raise InputError(f"{name} is not a file", "give a file or a folder")
    return result


@contextmanager
def drawn_progress(term: Terminal) -> Iterator[Progress | None]:
    """Draw progress bars on standard error if it is a terminal."""
    if not term.err.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=term.err), transient=True) as bar:
        tasks = {}

        def report(doing: str, done: int, of: int) -> None:
            if doing not in tasks:
                tasks[doing] = bar.add_task(doing, total=of)
            bar.update(tasks[doing], completed=done)

        yield report


# --json ---------------------------------------------------------------------------------------------------

AGREEING = (HEADLINE, "roundtrip", "explained", "retained")


def figures(findings: Findings) -> JsonObject:
    """Return the metrics of all cuts together, and of each set."""
    rows = findings.rows
    cuts = probes_by_cut(rows)
    sessions = {row.session for row in rows}
    sets = list(dict.fromkeys(row.set for row in rows))
    figures_found: JsonObject = {
        "cuts": len(cuts),
        "sessions": len(sessions),
        "probes": sum(cuts.values()),
        "ranked_by": HEADLINE,
        "policies": _by_policy(summarise_rows(rows)),
        "sets": {name: _by_policy(summarise_rows(row for row in rows if row.set == name)) for name in sets},
        "agreement": {metric: _tau(rows, metric) for metric in AGREEING if len(sessions) > 1},
    }
    if ceiling := _reached(rows):
        figures_found["of_the_ceiling"] = ceiling
    if findings.links:
        figures_found["chains"] = _chains(findings.links)
    if findings.growths:
        figures_found["grown"] = _grown(findings.growths)
    if findings.assaults:
        figures_found["attacks"] = _attacks(findings.assaults)
    if findings.own.judged or findings.own.unjudged:
        each: list[Json] = [loss.to_json() for loss in findings.own.judged]
        unjudged: list[Json] = [dict(loss._asdict()) for loss in findings.own.unjudged]
        both = _by_policy(tool_and_clew_lines(findings.own.judged))
        figures_found["compactions"] = {"policies": both, "each": each, "unjudged": unjudged}
    return figures_found


def _by_policy(lines: Sequence[ResultLine]) -> JsonObject:
    """Return the rows by policy; with several budgets, each policy's rows by budget."""
    if len({line.share for line in lines}) == 1:
        return {line.policy: line.to_json() for line in lines}
    result: dict[str, JsonObject] = {}
    for line in lines:
        result.setdefault(line.policy, {})[f"{line.share:g}"] = line.to_json()
    return dict(result)


def _reached(rows: Sequence[StudyRow]) -> JsonObject:
    """Return clew's share of the upper bound, at the budget nearest to a tenth."""
    if not rows:
        return {}
    budget = usual_budget(row.share for row in rows)
    lines = {line.policy: line for line in summarise_rows(row for row in rows if row.share == budget)}
    if OURS not in lines or CEILING not in lines:
        return {}
    return {name: round(share, 4) for name, share in share_of_ceiling(lines[OURS], lines[CEILING]).items()}


def _tau(rows: Sequence[StudyRow], metric: str) -> JsonObject:
    budget = usual_budget(row.share for row in rows)
    result = agreement([row for row in rows if row.share == budget], metric)
    return {"mean_tau": round(result.mean, 3), "worst_tau": round(result.worst, 3)}


def _chains(links: Sequence[Link]) -> JsonObject:
    result: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(link.policy for link in links):
        mine = [link for link in links if link.policy == policy]
        times = sorted({link.times for link in mine})
        result[policy] = {str(number): chain_line(mine, number).to_json() for number in times}
    return dict(result)


def _grown(every: Sequence[Growth]) -> JsonObject:
    """Return by policy and metric the difference between a chain and one compaction to the same size."""
    result: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(growth.policy for growth in every):
        mine = [growth for growth in every if growth.policy == policy]
        drifts = {metric: mean for metric in GROWN if (mean := mean_drift(mine, metric))}
        result[policy] = {
            "sessions": len(mine),
            "compactions": sum(growth.compactions for growth in mine),
            "difference": {metric: round(mean.value, 4) for metric, mean in drifts.items()},
            "interval": {
                metric: [round(mean.low, 4), round(mean.high, 4)] for metric, mean in drifts.items()
            },
        }
    return dict(result)


def _attacks(every: Sequence[Assault]) -> JsonObject:
    """Return by policy the share of rules that survived, by number of compactions and by kind of attack."""
    result: dict[str, JsonObject] = {}
    for policy in dict.fromkeys(assault.policy for assault in every):
        mine = [assault for assault in every if assault.policy == policy]
        result[policy] = {
            **_survivals(mine, lambda item: str(item.times)),
            "families": _survivals(mine, lambda item: item.family),
            "attacks": len(mine),
        }
    return dict(result)


def _survivals(some: Sequence[Assault], of: Callable[[Assault], str]) -> JsonObject:
    names = dict.fromkeys(map(of, some))
    return {
        name: round(survival_share(assault for assault in some if of(assault) == name), 4) for name in names
    }
