"""Serve the pages of `clew inspect` for all sessions of clew's log, without opening a browser.

Only this computer can reach it, unless --host names another of its addresses; then anyone who can reach that
address and knows the token can read and change your sessions, over an unencrypted connection.

examples:
  clew serve
  clew serve --port 8710
"""

from __future__ import annotations

import argparse

from clew.cli.inspect import LOOPBACK, add_server, own_shelf
from clew.cli.inspect import serve as answer
from clew.cli.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_server(parser)
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        default=LOOPBACK,
        help="address to listen on (default: this computer only)",
    )
    parser.set_defaults(no_browser=True)


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Serve until Ctrl-C."""
    if args.host not in (LOOPBACK, "::1"):
        term.note(f"⚠ {args.host} can be reached from other computers, and the connection is not encrypted")
    with own_shelf(args) as shelf:
        answer(shelf, args, term)
    return 0
