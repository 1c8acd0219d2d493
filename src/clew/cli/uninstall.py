"""Take clew out of an agent again: every file is as it was before, to the byte.

A file that you or the agent changed since keeps those changes; only clew's part goes.

examples:
  clew uninstall claude-code
  clew uninstall codex --dry-run
"""

from __future__ import annotations

import argparse

from clew.cli.install import print_changes
from clew.cli.terminal import Terminal
from clew.hosts.install import HOSTS, host_named, to_uninstall, uninstall
from clew.transcripts.places import Computer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("tool", metavar="TOOL", help=f"one of {', '.join(HOSTS)}")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Uninstall, or show what that would do."""
    host, computer = host_named(args.tool), Computer()
    changes = to_uninstall(host, computer) if args.dry_run else uninstall(host, computer)
    print_changes(changes, term, dry_run=args.dry_run)
    if not changes:
        term.write(f"clew is not in {host.title}: nothing to change.")
    return 0
