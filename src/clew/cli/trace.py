"""``clew trace`` and ``clew undo``: list the compactions of a session, explain a decision, undo.

Of a session file of another tool, ``trace`` lists the compactions that the tool made, and prints the
summaries that it wrote (``run_on_file``).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import takewhile

from rich.text import Text as Styled

from clew.cli.inputs import Input
from clew.cli.report import author
from clew.cli.stored import Log, history, open_log_or_input, own_log, past_named, refusals
from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.compaction.plan.digest import spans
from clew.compaction.verify import render_report
from clew.errors import InputError, NotFound
from clew.integrations.telemetry import lines
from clew.log import TOOL_COMPACTION
from clew.message import Item, JsonObject
from clew.providers.api import int_or_zero
from clew.providers.shapes import as_text
from clew.rules.codec import to_json
from clew.session import Compaction
from clew.session.history import PastCompaction
from clew.tokens import TokenCounter, counter_for
from clew.transcripts import Transcript
from clew.transcripts.transcript import ToolCompaction, tool_compactions

LABEL = 6
DETAIL = 9
"""Columns of the names of compactions, and of the labels below them."""
TOOL_LABEL = 4
"""The same for those that a tool made, whose names are shorter."""
SHOWN_HASH = len("sha256:") + 16


def run(args: argparse.Namespace, term: Terminal) -> int:
    """List the compactions, or explain one reference."""
    with open_log_or_input(args) as log:
        if isinstance(log, Input):
            return run_on_file(log.single_session(term), args, term)
        if args.jsonl:
            for line in lines(log.name, log.store.read(log.ctx)):
                term.write(line)
            return 0
        if args.report:
            return _report(log, args, term)
        if args.ref:
            return _explain(log, args.ref, args.json, term)
        return _list(log, args.json, term)


def _list(log: Log, as_json: bool, term: Terminal) -> int:
    """Print the compactions of a session: by its own tool, by clew, and those that were refused."""
    past, refused, by_tool = history(log), refusals(log), _by_tool(log)
    if as_json:
        output = {
            "session": log.name,
            "tool_compactions": by_tool,
            "compactions": [_to_json(item) for item in past],
            "refusals": [asdict(item) for item in refused],
        }
        term.write_json(output)
        return 0
    width = term.console().width
    for body in by_tool:
        term.print(_tool_line(body, width))
    for compaction in past:
        term.print(*_lines(compaction, width))
    for refusal in refused:
        line = Styled.assemble(f"{'–':<{LABEL}}{_clock(refusal.time)}  ", ("✗ refused  ", "red"))
        term.print(line.append(one_line(refusal.reason, max(20, width - line.cell_len))))
    if not (past or refused or by_tool):
        term.say(printable(f"{log.name}: never compacted"))
    return 0


def _by_tool(log: Log) -> list[JsonObject]:
    """Return the compactions that the tool of an imported session made, without their summaries."""
    fields = ("name", "time", "trigger", "before", "after", "estimated", "sealed")
    stored = log.store.read(log.ctx, kinds=[TOOL_COMPACTION.name])
    return [{field: event.event.body.get(field) for field in fields} for event in stored]


def _tool_line(body: JsonObject, width: int) -> Styled:
    """Return a line on a compaction that the session's own tool made."""
    when = as_text(body.get("time"))[:16].replace("T", " ")
    sizes = f"{int_or_zero(body.get('before')):,} → {int_or_zero(body.get('after')):,} tokens"
    trigger = f", {as_text(body.get('trigger'))}" if body.get("trigger") else ""
    text = one_line(f"{when}, {sizes}, by its own tool{trigger}", max(20, width - LABEL))
    return Styled.assemble((f"{as_text(body.get('name')):<{LABEL}}", "bold"), text)


def _report(log: Log, args: argparse.Namespace, term: Terminal) -> int:
    report = past_named(log, args.report).compaction.report
    if args.values:
        with log.open() as session:
            report = session.losses(args.report)
    if args.json:
        term.write_json(report.to_json())
        return 0
    term.say(printable(render_report(report)))
    for item in report.lost if args.values else ():
        term.say(printable(f"{item.source}  {one_line(item.text, 200)}"))
    return 0


def _explain(log: Log, ref: str, as_json: bool, term: Terminal) -> int:
    with log.open() as session:
        why = session.explain(ref)
    if as_json:
        term.write_json(asdict(why))
    else:
        term.say(printable(str(why)))
    return 0


# Output for people -----------------------------------------------------------------------------------


def _lines(past: PastCompaction, width: int) -> Iterator[Styled]:
    plan = past.compaction.plan
    sizes = f"{_clock(past.compaction.time)}  {plan.tokens_before:,} → {plan.tokens_after:,} tokens  "
    status = (_status(past), "green" if past.in_force else "yellow")
    yield Styled.assemble((f"{past.name:<{LABEL}}", "bold"), sizes, status)
    room = max(20, width - LABEL - DETAIL)
    for label, words in _details(past):
        yield Styled.assemble((f"{'':<{LABEL}}{label:<{DETAIL}}", "dim"), one_line(words, room))


def _details(past: PastCompaction) -> Iterator[tuple[str, str]]:
    """Yield the lines below a compaction, each with its label: reason, digest, author, checksum, attempts."""
    compaction, plan, digest = past.compaction, past.compaction.plan, past.compaction.digest
    yield "why", f"{plan.trigger}: {plan.reason}"
    if compaction.focus:
        yield "focus", compaction.focus
    if digest:
        holds = f"{count(len(digest.claims), 'line')}, {count(len(digest.pins), 'rule')}"
        folds = f", {', '.join(digest.folds)} in it" if digest.folds else ""
        yield "digest", f"{digest.id} for {spans(digest.covers)}: {holds}{folds}"
    freed = ", ".join(f"{rung.rung.value} {rung.tokens:,}" for rung in plan.freed)
    yield "freed", f"{freed} (in {count(len(plan.operations), 'operation')})"
    yield "written", author(compaction)
    if digest:
        prompt = f", prompt {digest.prompt_version}" if digest.prompt_version else ""
        yield "checksum", f"{digest.checksum[:SHOWN_HASH]}… of its messages (whole: --json){prompt}"
    if compaction.shortened:
        label = "" if digest else "checksum"
        shown = f"{compaction.shortened_checksum[:SHOWN_HASH]}… of what was shortened"
        yield label, f"{shown} (before): {spans(compaction.shortened)}"
    if compaction.tools:
        yield "tools", ", ".join(compaction.tools)
    if compaction.not_judged:
        yield "", f"{compaction.asked or 'the model'} did not judge the rules: {compaction.not_judged}"
    for attempt in compaction.attempts:
        for miss in attempt.misses[:3]:
            yield "", f"{attempt.author} {attempt.outcome}: {miss}"


def _status(past: PastCompaction) -> str:
    if past.undone:
        return f"✗ undone {_clock(past.undone)}"
    return f"✓ in force, taken into {past.folded_into}" if past.folded_into else "✓ in force"


def _clock(time: str) -> str:
    return f"{time[:10]} {time[11:16]}"


# Output for programs ---------------------------------------------------------------------------------


def _to_json(past: PastCompaction) -> JsonObject:
    compaction, plan, digest = past.compaction, past.compaction.plan, past.compaction.digest
    return {
        "name": past.name,
        "event": compaction.seq,
        "time": compaction.time,
        "in_force": past.in_force,
        "undone": past.undone,
        "folded_into": past.folded_into,
        "trigger": plan.trigger,
        "reason": plan.reason,
        "focus": compaction.focus,
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "target_tokens": plan.target_tokens,
        "freed": to_json(plan.freed),
        "digest": digest.id if digest else None,
        "covers": spans(compaction.covers) or None,
        "author": digest.author if digest else None,
        "checksum": compaction.checksum or None,
        "shortened": spans(compaction.shortened) or None,
        "shortened_checksum": compaction.shortened_checksum or None,
        "prompt_version": digest.prompt_version if digest else None,
        "tools": [*compaction.tools],
        "lost": to_json(compaction.report.lost),
        "kept_values": [*compaction.report.kept_values],
        "attempts": to_json(compaction.attempts),
        "not_judged": compaction.not_judged,
        "usage": {"calls": compaction.calls, **asdict(compaction.usage)},
    }


def run_undo(args: argparse.Namespace, term: Terminal) -> int:
    """Undo, and print what is restored and what it costs."""
    with own_log(args.file) as log, log.open() as session:
        before = session.view()
        undone = session.undo(max(1, len(session.trace())) if args.all else args.compactions or 1)
        after, left = session.view(), [item.name for item in session.trace()]

        def tokens(items: Sequence[Item]) -> int:
            return sum(session.counter.count(item.message) for item in items)

        sizes = {
            "before": tokens(before),
            "after": tokens(after),
            "sent_anew": tokens(_after_first_change(before, after)),
        }
    if args.json:
        output = {"session": log.name, "undone": [_undo_json(item) for item in undone], "in_force": left}
        term.write_json({**output, "tokens": sizes})
        return 0
    for compaction in undone:
        when = compaction.time[:16].replace("T", " ")
        why = one_line(compaction.plan.reason, 80)
        term.say(printable(f"undone: {compaction.name}, the compaction of {when}, {why}"))
    term.say(f"still in force: {', '.join(left)}" if left else "every message is in view, unchanged")
    term.say(
        f"{sizes['before']:,} → {sizes['after']:,} tokens, {len(before):,} → {count(len(after), 'message')}; "
        f"{sizes['sent_anew']:,} tokens of the next request miss the provider's cache"
    )
    return 0


def _after_first_change(before: Sequence[Item], after: Sequence[Item]) -> Sequence[Item]:
    """Return the view from the first message that differs, which the prompt cache cannot have."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    return after[same:]


def _undo_json(compaction: Compaction) -> JsonObject:
    return {
        "name": compaction.name,
        "event": compaction.seq,
        "time": compaction.time,
        "digest": compaction.digest.id if compaction.digest else None,
        "tokens_before": compaction.plan.tokens_before,
        "tokens_after": compaction.plan.tokens_after,
    }


# The compactions of a tool, in its own session file ----------------------------------------------------


def run_on_file(session: Transcript, args: argparse.Namespace, term: Terminal) -> int:
    """List the tool's compactions, or print one summary."""
    if args.report or args.jsonl:
        raise InputError(f"{args.file} is not in clew's log", f"`clew import {args.file}` adds it")
    compactions = tool_compactions(session)
    if args.ref:
        _print_summary(_select(compactions, args.ref, args.file), args.json, term)
        return 0
    counter = counter_for(session.model or "")
    names = session.names()
    figures = [_Figures(compaction, counter, names) for compaction in compactions]
    if args.json:
        rows = [compaction.to_json() for compaction in figures]
        term.write_json({"session": session.id, "tool_compactions": rows})
        return 0
    width = term.console().width
    times = f"compacted {count(len(compactions), 'time')}" if compactions else "not compacted"
    term.print(
        Styled(one_line(session.label, width), "bold"),
        one_line(f"{session.format}, {times} by its tool", width),
    )
    for figure in figures:
        term.print(*_tool_lines(figure, width))
    if compactions:
        term.print(
            "",
            f"The summary: clew trace {args.file} c{len(compactions)}",
            f"What was lost: clew lost {args.file}",
        )
    return 0


def _select(compactions: list[ToolCompaction], name: str, file: str) -> ToolCompaction:
    for compaction in compactions:
        if compaction.name == name:
            return compaction
    last = len(compactions)
    known_names = {0: "there is none", 1: "there is c1"}.get(last, f"there are c1 to c{last}")
    raise NotFound(f"no compaction {name!r} in {file}", known_names)


def _print_summary(compaction: ToolCompaction, as_json: bool, term: Terminal) -> None:
    texts = [entry.message.text for entry in compaction.summary if entry.message.text]
    if as_json:
        fields = {"name": compaction.name, "summary": texts, "sealed": compaction.is_sealed}
        term.write_json(fields)
    else:
        term.write(printable("\n\n".join(texts)) if texts else _unreadable(compaction))


def _unreadable(compaction: ToolCompaction) -> str:
    return "encrypted: only the provider can read it" if compaction.is_sealed else "not recorded"


class _Figures:
    """The figures of one compaction."""

    def __init__(self, compaction: ToolCompaction, counter: TokenCounter, names: dict[str, str]) -> None:
        kept = {entry.id for entry in compaction.kept}
        dropped = [entry for entry in compaction.before if entry.id not in kept]
        summary = [entry.message for entry in compaction.summary]
        self.compaction = compaction
        self.sizes = compaction.sizes(counter)
        self.summary_tokens = counter.count_all(summary) if summary and not compaction.is_sealed else None
        self.dropped = len(dropped)
        self.calls = sum(1 for entry in dropped for _ in entry.message.calls)
        gone = [name for entry in dropped if (name := names.get(entry.id, "")).startswith("m")]
        self.span = (gone[0], gone[-1]) if gone else None

    def to_json(self) -> JsonObject:
        boundary = self.compaction.boundary
        return {
            "name": self.compaction.name,
            "time": boundary.time,
            "trigger": boundary.trigger,
            "tokens_before": self.sizes.before,
            "tokens_before_estimated": not self.sizes.before_reported,
            "tokens_after": self.sizes.after,
            "tokens_after_estimated": not self.sizes.after_reported,
            "dropped_messages": self.dropped,
            "dropped_calls": self.calls,
            "dropped_span": list(self.span) if self.span else None,
            "kept_messages": len(self.compaction.kept),
            "summary_tokens": self.summary_tokens,
            "sealed": self.compaction.is_sealed,
            "messages_after": len(self.compaction.after),
        }


def _tool_lines(figures: _Figures, width: int) -> Iterator[Styled]:
    yield Styled.assemble(
        (f"{figures.compaction.name:<{TOOL_LABEL}}", "bold"), one_line(str(figures.sizes), width - TOOL_LABEL)
    )
    for label, words in _tool_details(figures):
        text = one_line(words, max(20, width - TOOL_LABEL - DETAIL))
        yield Styled.assemble((f"{'':<{TOOL_LABEL}}{label:<{DETAIL}}", "dim"), text)


def _tool_details(figures: _Figures) -> Iterator[tuple[str, str]]:
    boundary, kept = figures.compaction.boundary, len(figures.compaction.kept)
    when = (boundary.time or "")[:16].replace("T", " ")
    if when or boundary.trigger:
        yield "when", ", ".join(filter(None, (when, boundary.trigger)))
    span = f" {figures.span[0]}-{figures.span[1]}" if figures.span else ""
    yield "dropped", f"{count(figures.dropped, 'message')}{span}, {count(figures.calls, 'tool call')}"
    if kept:
        yield "kept", f"{count(kept, 'message')} word for word"
    size = figures.summary_tokens
    yield "summary", f"{size:,} tokens" if size else _unreadable(figures.compaction)
    yield "after it", count(len(figures.compaction.after), "message")
