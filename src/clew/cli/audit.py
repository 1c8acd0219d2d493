"""``clew audit``: verify the log."""

from __future__ import annotations

import argparse
import dataclasses
import json

from clew.cli.terminal import Terminal
from clew.cli.text import count, printable
from clew.log.store.audit import AuditReport, audit
from clew.session.replay import skipped_events
from clew.settings import store_path


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
