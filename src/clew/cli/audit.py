"""Re-derive every hash and every view of the log, and say exactly what is not what was written.

Reads only. Exit status 1 when something is wrong.

examples:
  clew audit
  clew audit ~/backup/clew.db
  clew audit --json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from clew.cli.terminal import Terminal
from clew.cli.text import count, printable
from clew.settings import store_path
from clew.store.audit import AuditReport, audit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "store", metavar="STORE", nargs="?", type=Path, help="the log's file (default: clew's own)"
    )
    parser.add_argument("--json", action="store_true", help="for other programs")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Audit and report."""
    report = audit(args.store or store_path())
    if args.json:
        term.write(_as_json(report))
    else:
        for session in report.sessions:
            words = f"{count(session.events, 'event')}, {count(session.visible, 'visible message')}"
            unknown = sum(session.skipped.values())
            note = f", {count(unknown, 'event')} of kinds this clew does not know" if unknown else ""
            term.write(printable(f"{session.ctx.session}: {words}{note}, head {session.head.hash[:19]}…"))
        for flaw in report.flaws:
            term.write(printable(f"✗ {flaw}"))
        verdict = "✓ all is what was written" if report.sound else f"✗ {count(len(report.flaws), 'flaw')}"
        term.write(
            f"{verdict} ({count(len(report.sessions), 'session')}, {count(report.blobs, 'shared body')})"
        )
    return 0 if report.sound else 1


def _as_json(report: AuditReport) -> str:
    sessions = [
        {
            "session": one.ctx.session,
            "workspace": one.ctx.workspace,
            "events": one.events,
            "visible": one.visible,
            "skipped": dict(one.skipped),
            "head": one.head.hash,
        }
        for one in report.sessions
    ]
    flaws = [dataclasses.asdict(flaw) for flaw in report.flaws]
    return json.dumps({"sound": report.sound, "sessions": sessions, "blobs": report.blobs, "flaws": flaws})
