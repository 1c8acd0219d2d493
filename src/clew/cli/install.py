"""``clew install``: add clew to an agent."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from clew.cli.terminal import Terminal
from clew.cli.text import count, printable
from clew.hosts.install import Change, host_named, install, to_install
from clew.transcripts.discover import Computer


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Install, or print what would change."""
    host, computer = host_named(args.tool), Computer()
    changes = to_install(host, computer) if args.dry_run else install(host, computer)
    print_changes(changes, term, dry_run=args.dry_run)
    if not changes:
        term.write(f"clew is already installed in {host.title}: nothing to change.")
    elif not args.dry_run:
        term.write(
            f"Installed clew in {host.title}. Next: {host.then}. `clew uninstall {host.name}` removes it."
        )
    return 0


def print_changes(changes: Sequence[Change], term: Terminal, *, dry_run: bool) -> None:
    """List the files that are written or removed; in a dry run, with their diffs."""
    for change in changes:
        if dry_run:
            term.write(printable(change.diff()).rstrip("\n"))
        else:
            what = "removed" if change.after is None else "written" if change.before is None else "changed"
            term.write(printable(f"{what} {change.path}"))
    if dry_run and changes:
        term.note(f"dry run: {count(len(changes), 'file')} would change")
