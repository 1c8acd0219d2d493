"""``clew install``, ``uninstall``, ``doctor``, ``hook`` and ``mcp``: clew inside other agents.

Imports inside the functions: an agent waits for ``hook`` and ``mcp``, which need nothing of the installer.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from clew.cli.terminal import Terminal
from clew.cli.text import count, printable

if TYPE_CHECKING:
    from clew.hosts.install import FileChange


def run_install(args: argparse.Namespace, term: Terminal) -> int:
    """Install, or print what would change."""
    from clew.hosts.install import host_named, install, to_install
    from clew.transcripts.discover import Computer

    host, computer = host_named(args.tool), Computer()
    changes = to_install(host, computer) if args.dry_run else install(host, computer)
    note = (
        f"Dry run: nothing is written. In {host.title}, clew keeps your rules, goal and open work in "
        f"view across its compactions and finds earlier turns. These {count(len(changes), 'file')} would "
        f"change; `clew install {host.name}` writes them, `clew uninstall {host.name}` restores them."
    )
    none = f"clew is already installed in {host.title}: nothing to change."
    _print_changes(args, term, changes, note, none)
    if changes and not args.dry_run and not args.json:
        done = f"Installed clew in {host.title}. Next: {host.then}."
        term.say(f"{done} `clew uninstall {host.name}` removes it.")
    return 0


def run_uninstall(args: argparse.Namespace, term: Terminal) -> int:
    """Uninstall, or print what would change."""
    from clew.hosts.install import host_named, to_uninstall, uninstall
    from clew.transcripts.discover import Computer

    host, computer = host_named(args.tool), Computer()
    changes = to_uninstall(host, computer) if args.dry_run else uninstall(host, computer)
    note = f"Dry run: nothing is written. {count(len(changes), 'file')} would be as before clew came:"
    _print_changes(args, term, changes, note, f"clew is not installed in {host.title}: nothing to change.")
    return 0


def _print_changes(
    args: argparse.Namespace, term: Terminal, changes: Sequence[FileChange], dry_run_note: str, none: str
) -> None:
    """List the files that are written or removed; in a dry run, their diffs after a note."""
    if args.json:
        rows = [
            {"path": str(change.path), "change": _what(change), "diff": change.diff()} for change in changes
        ]
        term.write(json.dumps(rows))
        return
    if args.dry_run and changes:
        term.note(dry_run_note)
    for change in changes:
        if args.dry_run:
            term.write(printable(change.diff()).rstrip("\n"))
        else:
            term.say(printable(f"{_what(change)} {change.path}"))
    if not changes:
        term.say(none)


def _what(change: FileChange) -> str:
    return "removed" if change.after is None else "written" if change.before is None else "changed"


def run_doctor(args: argparse.Namespace, term: Terminal) -> int:
    """Print the findings; return 1 if something does not work."""
    from clew.hosts.doctor import Verdict, examine
    from clew.transcripts.discover import Computer

    findings = list(examine(Computer()))
    if args.json:
        term.write_json([asdict(item) for item in findings])
    for finding in findings if not args.json else ():
        mark = {Verdict.GOOD: "✓", Verdict.NOTE: "·", Verdict.BAD: "✗"}[finding.verdict]
        term.say(printable(f"{mark} {finding.host:<12} {finding.text}"))
    return 1 if any(item.verdict is Verdict.BAD for item in findings) else 0


def run_hook(args: argparse.Namespace, _: Terminal) -> int:
    """Answer the event."""
    from clew.hosts.hook import main

    return main([args.tool])


def run_mcp(_: argparse.Namespace, __: Terminal) -> int:
    """Serve until the client closes the connection."""
    from clew.hosts.mcp import serve

    serve()
    return 0
