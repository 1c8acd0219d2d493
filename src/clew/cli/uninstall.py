"""``clew uninstall``: remove clew from an agent."""

from __future__ import annotations

import argparse

from clew.cli.install import print_changes
from clew.cli.terminal import Terminal
from clew.hosts.install import host_named, to_uninstall, uninstall
from clew.transcripts.discover import Computer


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Uninstall, or print what would change."""
    host, computer = host_named(args.tool), Computer()
    changes = to_uninstall(host, computer) if args.dry_run else uninstall(host, computer)
    print_changes(changes, term, dry_run=args.dry_run)
    if not changes:
        term.write(f"clew is not installed in {host.title}: nothing to change.")
    return 0
