"""Compare the cost of real sessions: as they ran, without compaction, and with clew.

The requests of each session are replayed at its models' prices: input, cache reads and writes, output, and
the calls that wrote summaries. Usage that the provider reported is used unchanged; the other two columns
assume that the session continued in the same way. clew compacts at the size at which the tool first did,
without a model. A negative saving means that clew costs more. Without SESSION, the newest session. Nothing is
sent anywhere.

examples:
  clew bill
  clew bill 3f2a9c10 39ef5efd
  clew bill --all --limit 50
  clew bill 3f2a9c10 --window 60000 --down-to 0.2
"""

from __future__ import annotations

import argparse

from clew.cli.terminal import Terminal
from clew.cli.text import positive

MOST_SESSIONS = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", metavar="SESSION", nargs="*", help="ids from clew sessions, or files")
    parser.add_argument("--all", action="store_true", help="the newest sessions of this computer")
    parser.add_argument(
        "--limit",
        type=positive,
        default=MOST_SESSIONS,
        metavar="N",
        help="with --all: at most N (default: 30)",
    )
    parser.add_argument(
        "--window", type=positive, metavar="TOKENS", help="the context window for the column with clew"
    )
    parser.add_argument(
        "--down-to", type=_share, metavar="SHARE", help="compact to this share of the window, such as 0.2"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Import the report only now: its imports take a second, which --help should not."""
    from clew_evals.cli.bill_report import report

    return report(args, term)


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return share
