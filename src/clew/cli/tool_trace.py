"""``clew trace FILE``: the compactions that a session's own tool made, and the summaries that it wrote."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from rich.text import Text as Styled

from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.errors import InputError, NotFound
from clew.message import JsonObject
from clew.tokens import TokenCounter, counter_for
from clew.transcripts import Transcript
from clew.transcripts.transcript import ToolCompaction, tool_compactions

LABEL = 4
DETAIL = 9
"""Columns of the names of compactions, and of the labels below them."""


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
        (f"{figures.compaction.name:<{LABEL}}", "bold"), one_line(str(figures.sizes), width - LABEL)
    )
    for label, words in _tool_details(figures):
        text = one_line(words, max(20, width - LABEL - DETAIL))
        yield Styled.assemble((f"{'':<{LABEL}}{label:<{DETAIL}}", "dim"), text)


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
