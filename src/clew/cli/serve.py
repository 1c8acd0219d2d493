"""``clew serve``: serve the pages of ``clew inspect`` for all sessions."""

from __future__ import annotations

import argparse

from clew.cli.inspect import LOOPBACK, own_shelf
from clew.cli.inspect import serve as answer
from clew.cli.terminal import Terminal


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Serve until Ctrl-C."""
    if args.host not in (LOOPBACK, "::1"):
        term.note(f"⚠ {args.host} can be reached from other computers, and the connection is not encrypted")
    with own_shelf(args) as shelf:
        answer(shelf, args, term)
    return 0
