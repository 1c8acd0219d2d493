"""``clew doctor``: check clew's installation in the agents of this computer."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from clew.cli.terminal import Terminal
from clew.cli.text import printable
from clew.hosts.doctor import Verdict, examine
from clew.transcripts.discover import Computer


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Print the findings; return 1 if something does not work."""
    found = list(examine(Computer()))
    if args.json:
        term.write(json.dumps([asdict(one) for one in found], ensure_ascii=False))
    for one in found if not args.json else ():
        mark = {Verdict.GOOD: "✓", Verdict.NOTE: "·", Verdict.BAD: "✗"}[one.verdict]
        term.write(printable(f"{mark} {one.host:<12} {one.text}"))
    return 1 if any(one.verdict is Verdict.BAD for one in found) else 0
