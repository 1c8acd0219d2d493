"""Short ways to write down a session, and to read back what the ledger cites."""

from __future__ import annotations

import itertools
import json

from clew.ledger import Ledger
from clew.message import Item, Message, Origin, Role, Text, ToolCall, ToolResult, Trust, text_message


def user(text, **kwargs):
    return text_message(Role.USER, text, **kwargs)


def assistant(text):
    return text_message(Role.ASSISTANT, text)


def plan(text):
    """Return a plan in the user's place, as readers label it."""
    return Message(Role.USER, (Text(text, trust=Trust.ASSISTANT),), Origin.INJECTED)


_numbers = itertools.count()


def call(name, arguments=None, *, before="", call_id=None):
    parts = [Text(before, trust=Trust.ASSISTANT)] if before else []
    made = ToolCall(call_id or f"c{next(_numbers)}", name, arguments or {}, trust=Trust.ASSISTANT)
    return Message(Role.ASSISTANT, (*parts, made))


def result(call_id, text, *, error=False):
    return Message(Role.TOOL, (ToolResult(call_id, (Text(text),), error),))


def did(name, arguments=None, output="", *, error=False):
    """Return a call and its result."""
    asked = call(name, arguments)
    (made,) = asked.calls
    return [asked, result(made.call_id, output, error=error)]


def ran(command, output="", *, code=0):
    """Return a shell call as Claude Code writes it."""
    return did(
        "Bash", {"command": command}, f"Exit code {code}\n{output}" if code else output, error=code != 0
    )


def items(*messages):
    """Return messages, or lists of them, under the ids ``m0``, ``m1``, …"""
    flat = [one for entry in messages for one in (entry if isinstance(entry, list) else [entry])]
    return [Item(f"m{number}", message) for number, message in enumerate(flat)]


def ledger_of(*messages):
    ledger = Ledger()
    ledger.extend(items(*messages))
    return ledger


def citations(ledger):
    """Yield every place that a ledger names, with the words that must stand there, if it says which."""
    for stated in (*ledger.goals, *ledger.decisions, *ledger.pins.all):
        yield stated.source, stated.quote
    for pin in ledger.pins.all:
        yield from _anything(*pin.repeated, pin.ended_by)
    for loop in (*ledger.loops.open, *ledger.loops.closed):
        yield loop.source, loop.text if loop.source.end is not None else None
        yield from _anything(loop.closed_by)
    for artifact in ledger.artifacts.held.values():
        yield from _anything(artifact.first, artifact.last, artifact.last_change, artifact.named_by)
    for failure in ledger.failures:
        yield from zip(failure.sources, failure.lines, strict=True)
        yield from _anything(*failure.attempts, failure.fixed_by)
    for approval in ledger.approvals:
        yield from _anything(approval.asked, approval.answered)


def _anything(*cites):
    return ((cite, None) for cite in cites if cite is not None)


def is_there(cite, words, messages):
    """Tell whether words stand at a place; what stands in a call's JSON is escaped there."""
    quote = cite.quote(messages[cite.message])
    return words is None or words in quote or json.dumps(words, ensure_ascii=False)[1:-1] in quote
