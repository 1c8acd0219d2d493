"""Show what your tool's last compactions dropped that was needed later, or is likely to be needed.

Rules, open work, findings and changed files are likely to be needed after any compaction; of exact values,
those count that the session went on to use. Each is looked for in what the tool left, and in what clew keeps
in as many tokens, without a model. Without SESSION, the newest session that was compacted. Nothing is changed
or sent anywhere.

examples:
  clew lost
  clew lost 3f2a9c10
  clew lost 3f2a9c10 --full
  clew lost --all                            the sessions of this computer, as a table
"""

from __future__ import annotations

import argparse

from clew.cli.terminal import Terminal
from clew.cli.text import positive

LAST = 2
"""Compactions that are shown by default."""
MOST_SESSIONS = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="SESSION", nargs="?", help="an id from clew sessions, or a file")
    parser.add_argument("--format", metavar="NAME", help="the file's format, if clew guesses wrong")
    parser.add_argument("--session", metavar="ID", help="which session, if the file holds several")
    parser.add_argument(
        "--last", type=positive, default=LAST, metavar="N", help="so many compactions (default: 2)"
    )
    parser.add_argument("--full", action="store_true", help="name everything, of every compaction")
    parser.add_argument("--all", action="store_true", help="the newest compacted sessions, as a table")
    parser.add_argument(
        "--limit",
        type=positive,
        default=MOST_SESSIONS,
        metavar="N",
        help="with --all: at most N (default: 30)",
    )
    parser.add_argument("--json", action="store_true", help="for other programs")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Hand over to what prints: its imports take a second, and help must not."""
    from clew_evals.cli.lost_report import report

    return report(args, term)
