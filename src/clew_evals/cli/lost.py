"""Show what your tool's last compactions dropped although it was, or is likely to be, needed.

Rules, open work, findings and changed files are likely to be needed after any compaction; exact values count
if the session used them later. Each is searched for in what the tool kept, and in what clew keeps in as many
tokens, without a model. Without SESSION, the newest session that was compacted. Nothing is changed or sent
anywhere.

examples:
  clew lost
  clew lost 3f2a9c10
  clew lost 3f2a9c10 --full
  clew lost --all                            a table of the sessions on this computer
"""

from __future__ import annotations

import argparse

from clew.cli.terminal import Terminal
from clew.cli.text import positive

LAST = 2
"""Compactions shown by default."""
MOST_SESSIONS = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="SESSION", nargs="?", help="an id from clew sessions, or a file")
    parser.add_argument("--format", metavar="NAME", help="the file's format, if it is detected wrongly")
    parser.add_argument("--session", metavar="ID", help="which session, if the file holds several")
    parser.add_argument(
        "--last", type=positive, default=LAST, metavar="N", help="show the last N compactions (default: 2)"
    )
    parser.add_argument("--full", action="store_true", help="list everything, for every compaction")
    parser.add_argument("--all", action="store_true", help="the newest compacted sessions, as a table")
    parser.add_argument(
        "--limit",
        type=positive,
        default=MOST_SESSIONS,
        metavar="N",
        help="with --all: at most N (default: 30)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Import the report only now: its imports take a second, which --help should not."""
    from clew_evals.cli.lost_report import report

    return report(args, term)
