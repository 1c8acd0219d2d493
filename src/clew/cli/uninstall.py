"""Remove clew from an agent: every file is restored byte for byte.

If you or the agent changed a file since, those changes stay and only clew's part is removed.

examples:
  clew uninstall claude-code
  clew uninstall codex --dry-run
"""

from __future__ import annotations

import argparse

from clew.cli.install import print_changes
from clew.cli.terminal import Terminal
from clew.hosts.install import HOSTS, host_named, to_uninstall, uninstall
from clew.transcripts.discover import Computer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("tool", metavar="TOOL", help=f"one of {', '.join(HOSTS)}")
    parser.add_argument("--dry-run", action="store_true", help="print what would change, and change nothing")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Uninstall, or print what would change."""
    host, computer = host_named(args.tool), Computer()
    changes = to_uninstall(host, computer) if args.dry_run else uninstall(host, computer)
    print_changes(changes, term, dry_run=args.dry_run)
    if not changes:
        term.write(f"clew is not installed in {host.title}: nothing to change.")
    return 0
