"""Write a short Markdown page from which a new session or another agent can continue.

It holds the current state, the story so far, findings, files, rules and the next step, quoted from the
session, each line with its source message and a command that prints it. No model is called; keys and
passwords are masked. Without SESSION, the newest session on this computer.

examples:
  clew handoff 3f2a9c10 -o HANDOFF.md
  clew handoff 3f2a9c10 --tokens 1500
  clew handoff session.jsonl --style seed     with the fourteen headings of a compaction handoff
"""

from __future__ import annotations

import argparse
from pathlib import Path

from clew.cli.terminal import Terminal
from clew.cli.text import positive

DEFAULT_TOKENS = 3_000
STYLES = ("sections", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="SESSION", nargs="?", help="an id from clew sessions, or a file")
    parser.add_argument("--format", metavar="NAME", help="the file's format, if clew guesses wrong")
    parser.add_argument("--session", metavar="ID", help="which session, if the file holds several")
    parser.add_argument(
        "--tokens",
        type=positive,
        default=DEFAULT_TOKENS,
        metavar="N",
        help="at most N tokens (default: 3000)",
    )
    parser.add_argument(
        "--style", choices=STYLES, default=STYLES[0], help="six sections, or fourteen headings"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of standard output"
    )
    parser.add_argument("--json", action="store_true", help="print the lines with their sources as JSON")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Import the report only now: its imports take a second, which --help should not."""
    from clew.cli.handoff_report import report

    return report(args, term)
