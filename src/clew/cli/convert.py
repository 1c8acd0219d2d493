"""``clew convert`` and ``clew check``: print a provider's message list; check it against the API's rules."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import NamedTuple

from rich.text import Text as Styled

from clew.cli.inputs import Input, conversation, open_arguments
from clew.cli.terminal import Terminal
from clew.cli.text import count, printable
from clew.errors import CannotCarry, UnknownFormat
from clew.message import JsonObject
from clew.providers import (
    WIRES,
    CheckReport,
    CheckScope,
    ConversionOptions,
    Converted,
    RuleLevel,
    Unverified,
    Violation,
    Wire,
    convert,
    wire_named,
)
from clew.providers.body import Body
from clew.tokens import counter_for, model_named
from clew.transcripts import detect
from clew.transcripts.json_document import is_lines


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Convert and print."""
    session = open_arguments(args).single_session(term)
    if session.problems and args.strict:
        unread = f"{count(len(session.problems), 'line')} of {args.file} could not be read whole"
        raise CannotCarry(unread, "repair the file first")
    wire = wire_named(args.to)
    whole_messages = [entry.message for entry in conversation(session)]
    converted = convert(session.current() if args.current else whole_messages, wire)
    if converted.losses and args.strict:
        lost = count(len(converted.losses), "part")
        raise CannotCarry(f"{lost} cannot go to {wire.title}, the first: {converted.losses[0]}")
    if not args.quiet:
        report_losses(converted, term)
    if not args.body:
        if converted.system is not None:
            term.note(f"note: {wire.title} keeps the system prompt apart; --body prints it too")
        term.write(json.dumps(converted.items, ensure_ascii=False, indent=1))
        return 0
    body: JsonObject = {**({"model": args.model} if args.model else {}), **converted.body}
    term.write(json.dumps(body, ensure_ascii=False, indent=1))
    return 0


def report_losses(converted: Converted, term: Terminal) -> None:
    """Report what was lost: each kind once, with its count and first place."""
    times = Counter((loss.kind.value, loss.why) for loss in converted.losses)
    firsts = {(loss.kind.value, loss.why): loss.message for loss in reversed(converted.losses)}
    for key, number in times.most_common():
        kind, why = key
        term.note(printable(f"note: {number:,} × {kind}: {why} (first in messages[{firsts[key]}])"))


NATIVE_WIRES = {"codex": "responses", "gemini-cli": "gemini", "qwen-code": "gemini", "openai": "openai"}
"""The provider format closest to each tool's sessions; others are checked as Anthropic's, the strictest."""
MOST_SHOWN = 50
LARGEST_BODY = 1 << 30


class _Subject(NamedTuple):
    """What is checked, and for which API."""

    wire: Wire
    body: JsonObject
    scope: CheckScope
    note: str = ""


def run_check(args: argparse.Namespace, term: Terminal) -> int:
    """Check and report."""
    subject = _subject(args, term)
    report = subject.wire.check(subject.body, Unverified(args.unverified), subject.scope)
    tokens = _tokens(subject)
    for note in (subject.note, _length_note(subject, tokens)):
        if note:
            term.note(printable(f"note: {note}"))
    if args.json:
        term.write(_as_json(subject.wire, report, tokens))
    else:
        _print(subject, report, term)
    return 1 if report.refused else 0


def _subject(args: argparse.Namespace, term: Terminal) -> _Subject:
    raw = open_arguments(args)
    source = raw.source.keep() if raw.source else None
    kind = _kind(raw, args.to)
    named_wire = wire_named(args.to) if args.to else None
    if source and kind in WIRES and not is_lines(source):
        body = Body.parse(source.read(LARGEST_BODY), named_wire or (WIRES[kind] if args.format else None))
        value = body.render()
        if isinstance(value, dict):
            return _Subject(body.wire, value, CheckScope.BODY, body.note)
        return _Subject(body.wire, {body.wire.list_key: value}, CheckScope.MESSAGES, body.note)
    session = raw.single_session(term)
    wire = named_wire or WIRES[kind if kind in WIRES else NATIVE_WIRES.get(session.format, "anthropic")]
    if kind in WIRES:
        return _Subject(wire, {wire.list_key: wire.render(session.full())}, CheckScope.MESSAGES)
    # Not repaired: a call without its result is what this command is to report.
    messages = [entry.message for entry in conversation(session)]
    converted = convert(messages, wire, ConversionOptions(repair=False))
    return _Subject(wire, {**converted.body, "model": session.model}, CheckScope.MESSAGES)


def _kind(source: Input, wire: str | None) -> str:
    """Return the format of the input; if it cannot be detected, the one given by --to."""
    if source.source is None or source.is_clew:
        return "clew"
    if source.format:
        return source.format
    try:
        return detect(source.source).name
    except UnknownFormat:
        if not wire:
            raise
        return wire


def _tokens(subject: _Subject) -> int:
    """Return the estimated tokens of the request."""
    model = subject.body.get("model")
    counter = counter_for(model if isinstance(model, str) else "")
    listed = subject.body.get(subject.wire.list_key)
    return counter.count_all(subject.wire.parse(listed)) if isinstance(listed, list) else 0


def _length_note(subject: _Subject, tokens: int) -> str:
    model = subject.body.get("model")
    window = model_named(model).window_tokens if isinstance(model, str) and model_named(model).known else None
    if window and tokens > window:
        return f"about {tokens:,} tokens exceed the {window:,} of {model}: the API would reject that too"
    return ""


def _print(subject: _Subject, report: CheckReport, term: Terminal) -> None:
    shown_violations = report.violations[:MOST_SHOWN]
    term.print(*(_line(violation) for violation in shown_violations))
    if len(shown_violations) < len(report.violations):
        more = len(report.violations) - len(shown_violations)
        term.say(f"… and {count(more, 'more finding')} (--json has them all)")
    what = f"{subject.wire.title}{'' if subject.scope is CheckScope.BODY else ' (the message list alone)'}"
    if report.refused:
        term.say(f"✗ {what} would reject this: {', '.join(report.rule_ids)}")
    else:
        term.say(f"✓ {what} would accept this")


def _line(violation: Violation) -> Styled:
    refused = violation.level is RuleLevel.REFUSE
    line = Styled("✗ " if refused else "· ", style="red" if refused else "yellow")
    line.append(f"{violation.rule.id:<4}", style="bold")
    line.append(f"{printable(violation.finding.where)}: ", style="dim")
    line.append(printable(violation.finding.problem))
    line.append(f" ({violation.rule.advice})", style="dim")
    return line


def _as_json(wire: Wire, report: CheckReport, tokens: int) -> str:
    violations = [
        {
            "rule": violation.rule.number,
            "id": violation.rule.id,
            "name": violation.rule.name,
            "level": violation.level.value,
            "where": violation.finding.where,
            "problem": violation.finding.problem,
            "advice": violation.rule.advice,
            "source": violation.rule.source,
        }
        for violation in report.violations
    ]
    refusing = [one.rule.number for one in report.violations if one.level is RuleLevel.REFUSE]
    broken = list(dict.fromkeys(refusing))  # each once
    result = {"wire": wire.name, "refused": report.refused, "rules": broken, "tokens": tokens}
    return json.dumps({**result, "violations": violations}, ensure_ascii=False)
