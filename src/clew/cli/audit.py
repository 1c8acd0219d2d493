"""Verify the log: recompute every hash and every view, and report what does not match.

Also lists events that are intact but no longer apply, such as a second undo of the same compaction; they are
skipped when the session is opened. Read-only. Exit status 1 if anything is damaged.

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
from clew.log.store.audit import AuditReport, audit
from clew.session.replay import skipped_events
from clew.settings import store_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "store", metavar="STORE", nargs="?", type=Path, help="the log's database file (default: clew's own)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Audit and report."""
    report = audit(args.store or store_path(), skipped_events=skipped_events)
    if args.json:
        term.write(_as_json(report))
    else:
        for session in report.sessions:
            words = f"{count(session.events, 'event')}, {count(session.visible, 'visible message')}"
            unknown = sum(session.skipped.values())
            note = f", {count(unknown, 'event')} of kinds this clew does not know" if unknown else ""
            term.write(printable(f"{session.ctx.session}: {words}{note}, head {session.head.hash[:19]}…"))
            for problem in session.problems:
                term.write(printable(f"! {session.ctx.session}: {problem}"))
        for flaw in report.flaws:
            term.write(printable(f"✗ {flaw}"))
        verdict = (
            "✓ log intact: all hashes match" if report.sound else f"✗ {count(len(report.flaws), 'flaw')}"
        )
        skipped = f"; {count(report.problems, 'problem')} listed above" if report.problems else ""
        found = f"{count(len(report.sessions), 'session')}, {count(report.blobs, 'shared body')}"
        term.write(f"{verdict} ({found}){skipped}")
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
            "problems": [problem._asdict() for problem in one.problems],
        }
        for one in report.sessions
    ]
    flaws = [dataclasses.asdict(flaw) for flaw in report.flaws]
    return json.dumps({"sound": report.sound, "sessions": sessions, "blobs": report.blobs, "flaws": flaws})
