"""``clew eval``: measure what compactions keep, on real sessions."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.cli.inputs import open_input
from clew.cli.terminal import Terminal
from clew.errors import InputError, NotFound
from clew_evals import POLICIES, SessionFile, Study, labels_near, read_labels, session_files, study
from clew_evals.asked_model import try_reader
from clew_evals.attacked import assaults
from clew_evals.chain import chained
from clew_evals.cli.eval_json import figures
from clew_evals.cli.eval_output import tables
from clew_evals.evictions import EvictionAttack, evictions
from clew_evals.growth import growths
from clew_evals.lost import lost_by_tools
from clew_evals.policies import CEILING, UNCUT, USUAL
from clew_evals.report import Findings, page
from clew_evals.study import Progress, common_keys


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
    texts = evictions(args.attacks) if args.attack or args.attacks else []
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
    links = chained(files, plan, common, progress) if args.chain else []
    grown = growths(files, plan, common, args.grow, progress) if args.grow else []
    attacks = assaults(files, plan, texts, progress) if texts else []
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
