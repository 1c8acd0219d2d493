"""``clew compact``, ``clew off`` and ``clew on``: compact a session, show the progress, print the result."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import TypeAlias

from clew.cli.convert import report_losses
from clew.cli.inputs import Input
from clew.cli.run_compaction import CompactReport, CompactRequest, compact_listed, compact_stored
from clew.cli.stored import open_log_or_input, own_log
from clew.cli.terminal import Terminal, print_wrapped, private_file, refuse_existing
from clew.cli.text import count, one_line, printable
from clew.compaction.bill import ModelBill
from clew.compaction.plan.codec import claim_to_json, plan_to_json
from clew.compaction.plan.render import render_digest
from clew.errors import CompactionRefused, InputError
from clew.message import JsonObject
from clew.providers.clients import open_model
from clew.providers.model import Ask, Model, Reply
from clew.rules.codec import to_json
from clew.rules.rule import Pin
from clew.settings import load_settings, use_judge_rules


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Compact, and show the result."""
    settings = load_settings().settings
    use_judge_rules(settings)
    if settings.off:
        raise InputError("clew is switched off by a setting", "`clew config` says where; unset it")
    if args.digest and args.to:
        raise InputError("--digest prints text, --to a message list", "give only one of them")
    if args.output and args.dry_run:
        raise InputError("--dry-run writes no file", "leave out -o or --dry-run")
    if args.output:
        refuse_existing(args.output, force=args.force)
    try:
        with progress_display(term) as display:
            report = _run(args, display)
    except CompactionRefused as refusal:
        term.note(printable(f"clew: {refusal}"))
        return 1
    _write(args, term, report)
    return 0


def _run(args: argparse.Namespace, display: ProgressDisplay) -> CompactReport:
    order = CompactRequest(
        target_tokens=args.target_tokens,
        window=args.window,
        focus=args.focus,
        messages=args.range,
        keep=args.keep,
        wire=args.to,
        summariser=WatchedModel(open_model(args.model), display.report) if args.model else None,
        dry_run=args.dry_run,
        whole=args.whole,
    )
    display.report(f"reading {args.file}")
    with open_log_or_input(args) as source:
        if not isinstance(source, Input):
            display.report("compacting")
            return compact_stored(source, order)
        transcript = source.single_session(display.term)
        display.report(f"compacting {count(len(transcript.entries), 'message')}")
        return compact_listed(args.file, transcript, order)


def _write(args: argparse.Namespace, term: Terminal, report: CompactReport) -> None:
    """Write the result in the requested form; without one, the report for people."""
    if report.part and (args.digest or args.json or args.to or args.output):
        term.note(f"note: compacted {report.part}")
    if args.digest:
        from clew.cli.report import digest_text, no_digest  # imports rich

        if report.digest:
            _write_output(digest_text(report.digest), args.output, term)
        else:
            term.note(f"note: {no_digest(report)}")
        return
    if args.json:
        _write_output(json.dumps(_object(report), ensure_ascii=False), args.output, term)
        return
    if args.to or args.output:
        converted = report.converted()
        report_losses(converted, term)
        if converted.system is not None:
            term.note(f"note: {report.wire.title} keeps the system prompt apart; --json prints it too")
        _write_output(json.dumps(converted.items, ensure_ascii=False, indent=1), args.output, term)
        if not args.output:
            term.note(f"note: {report.tokens(report.before):,} → {report.tokens(report.after):,} tokens")
            return
    from clew.cli.report import picture  # imports rich, which output for programs does not need

    console = term.console()
    for line in picture(report, console.width, args.output, every_figure=args.stats):
        print_wrapped(console, line)


def _write_output(text: str, path: Path | None, term: Terminal) -> None:
    """Write to standard output, or to a file: atomically, and readable by its owner only."""
    if path is None:
        term.write(text)
        return
    with private_file(path) as out:
        # Lone surrogates, which UTF-8 cannot encode, become escapes that JSON reads back.
        out.write(f"{text}\n".encode("utf-8", "backslashreplace"))


def _object(report: CompactReport) -> JsonObject:
    """Return the result as one JSON object."""
    converted, outcome, digest = report.converted(), report.outcome, report.digest
    system = report.system_tokens
    return {
        "session": report.name,
        "changed": outcome is not None,
        "part": "current" if report.is_current else "whole",
        "dry_run": report.dry_run,
        "kept": report.kept,
        "undoable": report.undoable,
        "tokens": {
            "before": report.tokens(report.before) - system,
            "after": report.tokens(report.after) - system,
            "system": system,
            "window": report.window,
        },
        "price": report.price.to_json() if outcome else None,
        "wire": report.wire.name,
        "system": converted.system,
        "messages": converted.items,
        "digest": render_digest(digest) if digest else None,
        "pins": [_pin_to_json(pin) for pin in report.ledger.pins.active],
        "claims": [claim_to_json(claim) for claim in digest.claims] if digest else [],
        "plan": plan_to_json(outcome.plan) if outcome else None,
        "report": outcome.report.to_json() if outcome else None,
        "attempts": to_json(outcome.attempts) if outcome else [],
        "not_judged": outcome.not_judged if outcome else "",
        "usage": {"calls": outcome.calls, **asdict(outcome.usage)} if outcome else None,
    }


def _pin_to_json(pin: Pin) -> JsonObject:
    source = to_json(pin.source)
    return {
        "id": pin.id,
        "quote": pin.quote,
        "source": source,
        "trust": pin.trust.label,
        "kind": pin.kind.value,
    }


def run_off(args: argparse.Namespace, term: Terminal) -> int:
    """Switch a session off: the model sees its whole history."""
    return _switch(args, term, off=True)


def run_on(args: argparse.Namespace, term: Terminal) -> int:
    """Switch a session on again."""
    return _switch(args, term, off=False)


def _switch(args: argparse.Namespace, term: Terminal, *, off: bool) -> int:
    """Switch compaction of a session off or on and print what is in view now."""
    with own_log(args.file) as log, log.open() as session:
        if session.is_off != off:
            session.switch_off() if off else session.switch_on()
        compactions, tokens, shown = len(session.trace()), session.tokens, len(session.view())
    in_view = f"{tokens:,} tokens, {count(shown, 'message')} in view"
    if args.json:
        fields = {"session": log.name, "off": off, "tokens": tokens, "compactions": compactions}
        term.write(json.dumps(fields))
    elif off:
        kept = ""
        if compactions:
            kept = f"; {count(compactions, 'compaction')} kept, `clew on {log.name}` applies them again"
        term.say(printable(f"off: the whole history is sent, as a plain client does; {in_view}{kept}"))
    else:
        term.say(printable(f"on: {count(compactions, 'compaction')} in force; {in_view}"))
    return 0


# Progress on standard error, if it is a terminal -------------------------------------------------------

ReportStep: TypeAlias = Callable[[str], None]
"""Reports which step begins."""
STEPS = 4
"""Steps of a compaction: read, compact, perhaps ask a model, print."""
WIDTH = 60


@dataclass(frozen=True, slots=True)
class ProgressDisplay:
    """A progress display in use."""

    report: ReportStep
    term: Terminal
    """Collects notes, which are printed when the bar is removed."""


@contextmanager
def progress_display(term: Terminal) -> Iterator[ProgressDisplay]:
    """Draw a progress bar and remove it at the end; draw nothing if standard error is not a terminal."""
    if not term.err.isatty():
        yield ProgressDisplay(lambda _step: None, term)
        return
    notes = StringIO()
    try:
        with _bar(term) as report:
            yield ProgressDisplay(report, Terminal(term.out, notes))
    finally:
        term.err.write(notes.getvalue())


@contextmanager
def _bar(term: Terminal) -> Iterator[ReportStep]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(file=term.err), transient=True) as bar:
        task = bar.add_task("", total=STEPS)

        def report(step: str) -> None:
            done = bar.tasks[task].completed
            bar.update(task, description=one_line(step, WIDTH), completed=min(done + 1, STEPS - 1))

        yield report


class WatchedModel:
    """A model that reports each call to the progress display, and adds up the usage."""

    def __init__(self, model: Model, report: ReportStep) -> None:
        """Wrap a model."""
        self.name = model.name
        self.window_tokens = model.window_tokens
        self.bill = ModelBill()
        self._model = model
        self._report = report

    def ask(self, ask: Ask) -> Reply:
        """Report the call and pass it on."""
        self.bill.calls += 1
        again = f", question {self.bill.calls}" if self.bill.calls > 1 else ""
        self._report(f"asking {self.name} to {ask.purpose}{again}")
        reply = self._model.ask(ask)
        self.bill.add(reply.usage)
        return reply
