"""``clew trace``: list the compactions of a session, or explain one decision."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict

from rich.text import Text as Styled

from clew.cli.inputs import Input
from clew.cli.picture import author
from clew.cli.stored import Log, Refusal, history, log_or_input, past_named, refusals
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.cli.trace_tool import trace_tool
from clew.compaction.plan.digest import spans
from clew.compaction.verify import render_report
from clew.integrations.telemetry import lines
from clew.message import JsonObject
from clew.rules.codec import to_json
from clew.session import Outcome
from clew.session.history import PastCompaction

LABEL = 6
DETAIL = 9


def run(args: argparse.Namespace, term: Terminal) -> int:
    """List the compactions, or explain one reference."""
    with log_or_input(args) as log:
        if isinstance(log, Input):
            return trace_tool(log.the_session(term), args, term)
        if args.jsonl:
            for line in lines(log.name, log.store.read(log.ctx)):
                term.write(line)
            return 0
        if args.report:
            return _report(log, args.report, args.json, term)
        if args.ref:
            return _explain(log, args.ref, args.json, term)
        past, refused = history(log), refusals(log)
    if args.json:
        told = {
            "session": log.name,
            "compactions": [_to_json(one) for one in past],
            "refusals": [asdict(one) for one in refused],
        }
        term.write(json.dumps(told, ensure_ascii=False))
    elif not past and not refused:
        term.write(printable(f"{log.name}: never compacted"))
    else:
        for one in past:
            term.print(*_lines(one, term.console().width))
        for refusal in refused:
            term.print(_refused(refusal, term.console().width))
    return 0


def _report(log: Log, name: str, as_json: bool, term: Terminal) -> int:
    report = past_named(log, name).compaction.report
    term.write(
        json.dumps(report.to_json(), ensure_ascii=False) if as_json else printable(render_report(report))
    )
    return 0


def _explain(log: Log, ref: str, as_json: bool, term: Terminal) -> int:
    with log.open() as session:
        why = session.explain(ref)
    term.write(json.dumps(asdict(why), ensure_ascii=False) if as_json else printable(str(why)))
    return 0


# Output for people -----------------------------------------------------------------------------------


def _lines(past: PastCompaction, width: int) -> Iterator[Styled]:
    plan = past.compaction.plan
    sizes = f"{_clock(past.compaction.time)}  {plan.tokens_before:,} → {plan.tokens_after:,} tokens  "
    status = (_standing(past), "green" if past.in_force else "yellow")
    yield Styled.assemble((f"{past.name:<{LABEL}}", "bold"), sizes, status)
    room = max(20, width - LABEL - DETAIL)
    for label, words in _details(past):
        yield Styled.assemble((f"{'':<{LABEL}}{label:<{DETAIL}}", "dim"), one_line(words, room))


def _details(past: PastCompaction) -> Iterator[tuple[str, str]]:
    one = past.compaction
    yield "why", f"{one.plan.trigger}: {one.plan.reason}"
    if one.focus:
        yield "focus", one.focus
    if one.digest:
        holds = f"{count(len(one.digest.claims), 'line')}, {count(len(one.digest.pins), 'rule')}"
        folds = f", {', '.join(one.digest.folds)} in it" if one.digest.folds else ""
        yield "digest", f"{one.digest.id} for {spans(one.digest.covers)}: {holds}{folds}"
    freed = ", ".join(f"{rung.rung.value} {rung.tokens:,}" for rung in one.plan.freed)
    yield "freed", f"{freed} (in {count(len(one.plan.operations), 'operation')})"
    yield "written", author(Outcome(one.plan, one.report, one.attempts, one.usage, one.calls))
    for attempt in one.attempts:
        for miss in attempt.misses[:3]:
            yield "", f"{attempt.author} {attempt.outcome}: {miss}"


def _standing(past: PastCompaction) -> str:
    if past.undone:
        return f"✗ undone {_clock(past.undone)}"
    return f"✓ in force, taken into {past.taken_in}" if past.taken_in else "✓ in force"


def _refused(refusal: Refusal, width: int) -> Styled:
    line = Styled.assemble(f"{'–':<{LABEL}}{_clock(refusal.time)}  ", ("✗ refused  ", "red"))
    return line.append(one_line(refusal.reason, max(20, width - line.cell_len)))


def _clock(time: str) -> str:
    return f"{time[:10]} {time[11:16]}"


# Output for programs ---------------------------------------------------------------------------------


def _to_json(past: PastCompaction) -> JsonObject:
    one = past.compaction
    return {
        "name": past.name,
        "event": one.seq,
        "time": one.time,
        "in_force": past.in_force,
        "undone": past.undone,
        "taken_in": past.taken_in,
        "trigger": one.plan.trigger,
        "reason": one.plan.reason,
        "focus": one.focus,
        "tokens_before": one.plan.tokens_before,
        "tokens_after": one.plan.tokens_after,
        "target_tokens": one.plan.target_tokens,
        "freed": to_json(one.plan.freed),
        "digest": one.digest.id if one.digest else None,
        "covers": spans(one.digest.covers) if one.digest else None,
        "author": one.digest.author if one.digest else None,
        "attempts": to_json(one.attempts),
        "usage": {"calls": one.calls, **asdict(one.usage)},
    }
