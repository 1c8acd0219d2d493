"""``clew convert``: print a session as a provider's message list."""

from __future__ import annotations

import argparse
import json
from collections import Counter

from clew.cli.inputs import conversation, opened
from clew.cli.terminal import Terminal
from clew.cli.text import count, printable
from clew.errors import CannotCarry
from clew.message import JsonObject
from clew.providers import Converted, convert, wire_named


def run(args: argparse.Namespace, term: Terminal) -> int:
    """Convert and print."""
    session = opened(args).the_session(term)
    if session.problems and args.strict:
        raise CannotCarry(
            f"{count(len(session.problems), 'line')} of {args.file} could not be read whole",
            "repair the file first",
        )
    wire = wire_named(args.to)
    whole = [entry.message for entry in conversation(session)]
    converted = convert(session.current() if args.current else whole, wire)
    if converted.losses and args.strict:
        lost = count(len(converted.losses), "part")
        raise CannotCarry(f"{lost} cannot go to {wire.title}, the first: {converted.losses[0]}")
    if not args.quiet:
        tell_losses(converted, term)
    if not args.body:
        if converted.system is not None:
            term.note(f"note: {wire.title} keeps the system prompt apart; --body prints it too")
        term.write(json.dumps(converted.items, ensure_ascii=False, indent=1))
        return 0
    body: JsonObject = {**({"model": args.model} if args.model else {}), **converted.body}
    term.write(json.dumps(body, ensure_ascii=False, indent=1))
    return 0


def tell_losses(converted: Converted, term: Terminal) -> None:
    """Report what was lost: each kind once, with its count and first place."""
    times = Counter((loss.kind.value, loss.why) for loss in converted.losses)
    firsts = {(loss.kind.value, loss.why): loss.message for loss in reversed(converted.losses)}
    for key, number in times.most_common():
        kind, why = key
        term.note(printable(f"note: {number:,} × {kind}: {why} (first in messages[{firsts[key]}])"))
