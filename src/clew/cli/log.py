"""``clew export``, ``audit`` and ``stats``: write, verify and count what is in clew's log."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from itertools import chain

from clew.chat.reports import stats_lines, stats_of
from clew.cli.inputs import WORKSPACE, existing_name, has_no_log, own_store, the_store
from clew.cli.stored import own_log
from clew.cli.terminal import Terminal, private_file, refuse_existing
from clew.cli.text import count, printable
from clew.errors import NotFound
from clew.log import export_session, export_session_zstd
from clew.log.protocol import Ctx
from clew.log.store.audit import AuditReport, audit
from clew.session.replay import skipped_events
from clew.settings import store_path


def run_export(args: argparse.Namespace, term: Terminal) -> int:
    """Write the session."""
    if has_no_log():
        raise NotFound(
            f"there is no session {args.session!r}: clew's log is empty", "`clew import FILE` adds a session"
        )
    if args.output:
        refuse_existing(args.output, force=args.force)
    with the_store() as store:
        ctx = Ctx(workspace=WORKSPACE, session=existing_name(store, args.session))
        if args.output is None:
            export_session(store, ctx, sys.stdout.buffer)
            return 0
        write = export_session_zstd if args.output.suffix == ".zst" else export_session
        with private_file(args.output) as out:
            head = write(store, ctx, out)
    term.note(f"{args.output}: {count(head.seq, 'event')}, head {head.hash[:19]}…")
    return 0


def run_audit(args: argparse.Namespace, term: Terminal) -> int:
    """Audit and report."""
    report = audit(args.store or store_path(), skipped_events=skipped_events)
    if args.json:
        term.write(_as_json(report))
    else:
        for session in report.sessions:
            words = f"{count(session.events, 'event')}, {count(session.visible, 'visible message')}"
            unknown = sum(session.skipped.values())
            note = f", {count(unknown, 'event')} of kinds this clew does not know" if unknown else ""
            term.say(printable(f"{session.ctx.session}: {words}{note}, head {session.head.hash[:19]}…"))
            for problem in session.problems:
                term.say(printable(f"! {session.ctx.session}: {problem}"))
        for flaw in report.flaws:
            term.say(printable(f"✗ {flaw}"))
        flaws = f"✗ {count(len(report.flaws), 'flaw')}"
        verdict = "✓ log intact: all hashes match" if report.sound else flaws
        skipped = f"; {count(report.problems, 'problem')} listed above" if report.problems else ""
        value = f"{count(len(report.sessions), 'session')}, {count(report.blobs, 'shared body')}"
        term.say(f"{verdict} ({value}){skipped}")
    return 0 if report.sound else 1


def _as_json(report: AuditReport) -> str:
    sessions = [
        {
            "session": session.ctx.session,
            "workspace": session.ctx.workspace,
            "events": session.events,
            "visible": session.visible,
            "skipped": dict(session.skipped),
            "head": session.head.hash,
            "problems": [problem._asdict() for problem in session.problems],
        }
        for session in report.sessions
    ]
    flaws = [asdict(flaw) for flaw in report.flaws]
    return json.dumps({"sound": report.sound, "sessions": sessions, "blobs": report.blobs, "flaws": flaws})


def run_stats(args: argparse.Namespace, term: Terminal) -> int:
    """Count, and print."""
    if args.session:
        with own_log(args.session) as log:
            stats = stats_of(log.store.read(log.ctx))
    else:
        with own_store() as store:
            names = [session.session for session in store.sessions(WORKSPACE)] if store else []
            ctxs = [Ctx(workspace=WORKSPACE, session=name) for name in names]
            stats = stats_of(chain.from_iterable(store.read(ctx) for ctx in ctxs) if store else ())
    if args.json:
        term.write(json.dumps(stats.to_json()))
        return 0
    for line in stats_lines(stats):
        term.say(printable(line))
    return 0
