"""``clew trace`` for a session of another tool: the compactions that the tool made."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from rich.text import Text as Styled

from clew.cli.terminal import Terminal
from clew.cli.text import count, one_line, printable
from clew.errors import InputError, NotFound
from clew.message import JsonObject
from clew.tokens import TokenCounter, counter_for
from clew.transcripts import Boundary, Transcript
from clew.transcripts.transcript import ToolCompaction, tool_compactions

LABEL = 4
DETAIL = 9


def trace_tool(session: Transcript, args: argparse.Namespace, term: Terminal) -> int:
    """List the tool's compactions, or print one summary."""
    if args.report or args.jsonl:
        raise InputError(f"{args.file} is not in clew's log", f"`clew import {args.file}` adds it")
    found = tool_compactions(session)
    if args.ref:
        _print_summary(_named(found, args.ref, args.file), args.json, term)
        return 0
    counter = counter_for(session.model or "")
    numbers = {entry.id: number for number, entry in enumerate(session.entries, start=1)}
    figures = [_Figures(one, counter, numbers) for one in found]
    if args.json:
        rows = [one.to_json() for one in figures]
        term.write(json.dumps({"session": session.id, "tool_compactions": rows}, ensure_ascii=False))
        return 0
    width = term.console().width
    times = f"compacted {count(len(found), 'time')} by its tool" if found else "not compacted by its tool"
    term.print(Styled(one_line(session.label, width), "bold"), one_line(f"{session.format}, {times}", width))
    for one in figures:
        term.print(*_lines(one, width))
    if found:
        term.print(
            "", f"The summary: clew trace {args.file} c{len(found)}", f"What was lost: clew lost {args.file}"
        )
    return 0


def _named(found: list[ToolCompaction], name: str, file: str) -> ToolCompaction:
    for one in found:
        if one.name == name:
            return one
    there = (
        f"there are c1 to c{len(found)}" if len(found) > 1 else "there is c1" if found else "there is none"
    )
    raise NotFound(f"no compaction {name!r} in {file}", there)


def _print_summary(one: ToolCompaction, as_json: bool, term: Terminal) -> None:
    texts = [entry.message.text for entry in one.summary if entry.message.text]
    if as_json:
        term.write(
            json.dumps({"name": one.name, "summary": texts, "sealed": one.is_sealed}, ensure_ascii=False)
        )
    else:
        term.write(printable("\n\n".join(texts)) if texts else _unreadable(one))


def _unreadable(one: ToolCompaction) -> str:
    return "encrypted: only the provider can read it" if one.is_sealed else "not recorded"


class _Figures:
    """The figures of one compaction."""

    def __init__(self, compaction: ToolCompaction, counter: TokenCounter, numbers: dict[str, int]) -> None:
        kept = {entry.id for entry in compaction.kept}
        dropped = [entry for entry in compaction.before if entry.id not in kept]
        summary = [entry.message for entry in compaction.summary]
        self.compaction = compaction
        self.tokens_before = counter.count_all(entry.message for entry in compaction.before)
        self.tokens_after = counter.count_all([*summary, *(entry.message for entry in compaction.kept)])
        self.summary_tokens = counter.count_all(summary) if summary and not compaction.is_sealed else None
        self.dropped = len(dropped)
        self.calls = sum(1 for entry in dropped for _ in entry.message.calls)
        self.span = (numbers[dropped[0].id], numbers[dropped[-1].id]) if dropped else None

    def to_json(self) -> JsonObject:
        boundary = self.compaction.boundary
        return {
            "name": self.compaction.name,
            "time": boundary.time,
            "trigger": boundary.trigger,
            "tokens_before": boundary.tokens_before or self.tokens_before,
            "tokens_before_estimated": not boundary.tokens_before,
            "tokens_after": boundary.tokens_after or self.tokens_after,
            "tokens_after_estimated": not boundary.tokens_after,
            "dropped_messages": self.dropped,
            "dropped_calls": self.calls,
            "dropped_span": list(self.span) if self.span else None,
            "kept_messages": len(self.compaction.kept),
            "summary_tokens": self.summary_tokens,
            "sealed": self.compaction.is_sealed,
            "messages_after": len(self.compaction.after),
        }


def sizes_of(boundary: Boundary, before: int, after: int) -> str:
    """Return the sizes before and after; ``~`` marks estimates of what the tool did not record."""
    first = f"{boundary.tokens_before:,}" if boundary.tokens_before else f"~{before:,}"
    last = f"{boundary.tokens_after:,}" if boundary.tokens_after else f"~{after:,}"
    return f"{first} → {last} tokens"


def _lines(one: _Figures, width: int) -> Iterator[Styled]:
    boundary = one.compaction.boundary
    sizes = sizes_of(boundary, one.tokens_before, one.tokens_after)
    yield Styled.assemble((f"{one.compaction.name:<{LABEL}}", "bold"), one_line(sizes, width - LABEL))
    for label, words in _details(one):
        told = one_line(words, max(20, width - LABEL - DETAIL))
        yield Styled.assemble((f"{'':<{LABEL}}{label:<{DETAIL}}", "dim"), told)


def _details(one: _Figures) -> Iterator[tuple[str, str]]:
    boundary, kept = one.compaction.boundary, len(one.compaction.kept)
    when = (boundary.time or "")[:16].replace("T", " ")
    if when or boundary.trigger:
        yield "when", ", ".join(filter(None, (when, boundary.trigger)))
    span = f" #{one.span[0]}-#{one.span[1]}" if one.span else ""
    yield "dropped", f"{count(one.dropped, 'message')}{span}, {count(one.calls, 'tool call')}"
    if kept:
        yield "kept", f"{count(kept, 'message')} word for word"
    size = one.summary_tokens
    yield "summary", f"{size:,} tokens" if size else _unreadable(one.compaction)
    yield "after it", count(len(one.compaction.after), "message")
