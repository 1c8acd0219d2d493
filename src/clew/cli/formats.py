"""``clew formats``: list the session formats that clew reads."""

from __future__ import annotations

import argparse
import json

from clew.cli.terminal import Terminal
from clew.transcripts import FORMATS


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Print the formats."""
    if args.json:
        rows = [
            {"name": kind.name, "title": kind.title, "locations": list(kind.locations)}
            for kind in FORMATS.values()
        ]
        term.write(json.dumps(rows, ensure_ascii=False))
        return 0
    width = max(map(len, FORMATS))
    term.write(f"{'name':<{width}}  {'what':<34}  where its tool stores them")
    for kind in FORMATS.values():
        term.write(f"{kind.name:<{width}}  {kind.title:<34}  {', '.join(kind.locations)}".rstrip())
    return 0
