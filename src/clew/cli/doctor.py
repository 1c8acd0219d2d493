"""Check whether clew works inside the agents on this computer, and list what is left to do.

Checks the files that `clew install` wrote, whether the agent trusts them (Codex asks once, under /hooks),
which version of the agent clew was tested with, and whether clew's hook and MCP server answer. Changes
nothing. Exit status 1 if something does not work.

examples:
  clew doctor
  clew doctor --json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from clew.cli.terminal import Terminal
from clew.cli.text import printable
from clew.hosts.doctor import Verdict, examine
from clew.transcripts.discover import Computer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Print the findings; return 1 if something does not work."""
    found = list(examine(Computer()))
    if args.json:
        term.write(json.dumps([asdict(one) for one in found], ensure_ascii=False))
    for one in found if not args.json else ():
        mark = {Verdict.GOOD: "✓", Verdict.NOTE: "·", Verdict.BAD: "✗"}[one.verdict]
        term.write(printable(f"{mark} {one.host:<12} {one.text}"))
    return 1 if any(one.verdict is Verdict.BAD for one in found) else 0
