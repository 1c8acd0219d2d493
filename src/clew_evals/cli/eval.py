"""Measure what compactions keep: cut real sessions, compact the first part, compare with the continuation.

Every PATH is a session file or a folder of them. Each session is cut at half and at three quarters of its
tokens; each policy compacts the first part to the same share of its tokens; the real continuation shows what
was needed. No model is called and nothing leaves this computer. Policies are ranked by `continuity`: the goal
is stated, the subjects of the next calls are in view, reports are kept, finished work is not shown as open.
See docs/concepts/measure.md for all metrics.

If the sessions' own tools compacted them, the report starts with what those compactions lost.

examples:
  clew eval ~/.claude/projects/my-project
  clew eval sessions/ --share 0.05,0.10,0.20,0.40 --chain --html report.html
  clew eval sessions/ --policy clew --policy tail --json
  clew eval sessions/ --policy clew --attack --reader openai-chat/qwen3@http://127.0.0.1:11434/v1
"""

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
from clew.cli.text import positive
from clew.errors import InputError, NotFound
from clew_evals import POLICIES, SessionFile, Study, labels_near, read_labels, session_files, study
from clew_evals.asked_model import try_reader
from clew_evals.attacked import assaults
from clew_evals.chain import chained
from clew_evals.cli.eval_figures import figures
from clew_evals.cli.eval_tables import tables
from clew_evals.cuts import LEAST_TOKENS
from clew_evals.evictions import Eviction, evictions
from clew_evals.growth import TARGET, WINDOW, growths
from clew_evals.lost import lost_by_tools
from clew_evals.policies import CEILING, UNCUT, USUAL
from clew_evals.report import Findings, page
from clew_evals.study import Progress, common_keys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a session file, a folder, or an id")
    parser.add_argument(
        "--share",
        type=_shares,
        default=(0.10,),
        metavar="S",
        help="shares of the tokens to compact to: 0.10, or 0.05,0.10,0.20",
    )
    parser.add_argument(
        "--policy", action="append", choices=[*POLICIES], metavar="NAME", help=f"of {', '.join(POLICIES)}"
    )
    parser.add_argument(
        "--ceiling",
        action="store_true",
        help="also measure the upper bounds: the uncut history, and an oracle that knows the continuation",
    )
    parser.add_argument("--chain", action="store_true", help="also compact 1, 5, 20 and 100 times in a row")
    parser.add_argument(
        "--grow",
        type=_sizes,
        nargs="?",
        const=(WINDOW, TARGET),
        metavar="WINDOW:TARGET",
        help=f"also chains at a real window, against one compaction (default {WINDOW}:{TARGET} tokens)",
    )
    parser.add_argument(
        "--attack",
        action="store_true",
        help="also plant tool outputs that ask to drop a rule, over 1 to 100 compactions",
    )
    parser.add_argument(
        "--attacks",
        type=Path,
        metavar="FILE",
        help="more texts for --attack: JSON lines, templates with {goal}",
    )
    parser.add_argument(
        "--reader",
        default="",
        metavar="MODEL",
        help="model that answers questions (default: a plain reader, no model)",
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write an HTML report to one file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--least", type=positive, default=LEAST_TOKENS, metavar="TOKENS", help="skip shorter sessions"
    )
    parser.add_argument("--labels", type=Path, metavar="FILE", help="a file of sentences labelled as rules")
    parser.add_argument(
        "--jobs", type=positive, default=0, metavar="N", help="number of processes (default: all cores)"
    )


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Run the measurement and print the results."""
    paths = [_path(name) for name in args.paths]
    files = session_files(paths)
    labels = read_labels(args.labels) if args.labels else labels_near(paths)
    names = dict.fromkeys([*(args.policy or USUAL), *((UNCUT, CEILING) if args.ceiling else ())])
    chosen = tuple(POLICIES[name] for name in names)
    plan = Study(
        chosen, args.share, least_tokens=args.least, labels=labels, jobs=args.jobs, reader=args.reader
    )
    try_reader(args.reader)
    texts = evictions(args.attacks) if args.attack or args.attacks else []
    with drawn_progress(term) as progress:
        found = _findings(files, plan, args, texts, progress)
    if not found.rows and not found.own.judged and not found.own.unjudged:
        raise NotFound(
            f"no session of at least {args.least:,} tokens in {', '.join(args.paths)}", "try --least 1000"
        )
    if args.html:
        args.html.write_text(page(found), encoding="utf-8")
        term.note(f"wrote {args.html}")
    if args.json:
        term.write(json.dumps(figures(found)))
    else:
        tables(found, term)
    return 0


def _findings(
    files: list[SessionFile],
    plan: Study,
    args: argparse.Namespace,
    texts: list[Eviction],
    progress: Progress | None,
) -> Findings:
    common = common_keys(files, plan, progress)
    rows = study(files, plan, common, progress)
    own = lost_by_tools(files, plan, common, progress)
    links = chained(files, plan, common, progress) if args.chain else []
    grown = growths(files, plan, common, args.grow, progress) if args.grow else []
    attacks = assaults(files, plan, texts, progress) if texts else []
    return Findings(rows, links, own, shlex.join(["clew", *sys.argv[1:]]), attacks, grown)


def _shares(text: str) -> tuple[float, ...]:
    shares = tuple(float(one) for one in text.split(","))
    if not all(0 < share <= 1 for share in shares):
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return shares


def _sizes(text: str) -> tuple[int, int]:
    window, _, target = text.partition(":")
    if not (window.isdigit() and target.isdigit() and 0 < int(target) < int(window)):
        raise argparse.ArgumentTypeError(f"{text} is not a window and a smaller target, such as 30000:10000")
    return int(window), int(target)


def _path(name: str) -> Path:
    path = Path(name).expanduser()
    if path.exists():
        return path
    found = open_input(name).path
    if found is None:
        raise InputError(f"{name} is not a file", "give a file or a folder")
    return found


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
