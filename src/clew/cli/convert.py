"""Print a session as a provider's message list, ready to send.

What the target format cannot represent is reported on standard error. The whole conversation is printed;
--current prints only what the tool's model sees after the tool's own compactions.

examples:
  clew convert session.jsonl --to anthropic > messages.json
  clew convert session.jsonl --to responses --body --model gpt-5.2
  clew convert messages.json --to openai --strict
"""

from __future__ import annotations

import argparse
import json
from collections import Counter

from clew.cli.inputs import add_input, conversation, opened
from clew.cli.terminal import Terminal
from clew.cli.text import count, printable
from clew.errors import CannotCarry
from clew.message import JsonObject
from clew.providers import WIRES, Converted, convert, wire_named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_input(parser)
    parser.add_argument("--to", choices=sorted(WIRES), required=True, help="the format to print")
    parser.add_argument("--current", action="store_true", help="print only what the tool's model sees now")
    parser.add_argument(
        "--body",
        action="store_true",
        help="print a request body, with the system prompt if the format keeps it apart",
    )
    parser.add_argument("--model", metavar="NAME", help="the model to name in the body")
    parser.add_argument(
        "--strict", action="store_true", help="fail and print nothing if anything would be lost"
    )
    parser.add_argument("--quiet", action="store_true", help="do not report what was lost")


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
