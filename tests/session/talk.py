"""A session to compact: a rule in turn 2, much reading and running, an open task."""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import Message, Role, Text, ToolCall, ToolResult, Trust, text_message

RULE = "Never modify files under legacy/."
THOUGHT = (
    "It multiplies thirty amounts by their rates, one step each, rounds only at the end, and is imported by "
    "the report of invoices alone, so it can move with the others once the reports read the totals elsewhere."
)


def call(number: int, name: str, **arguments: object) -> Message:
    return Message(Role.ASSISTANT, (ToolCall(f"call_{number}", name, arguments),))


def answer(number: int, text: str) -> Message:
    result = ToolResult(f"call_{number}", (Text(text, trust=Trust.UNTRUSTED),), trust=Trust.UNTRUSTED)
    return Message(Role.TOOL, (result,))


def talk(fillers: int = 40) -> Iterator[Message]:
    """Yield a session: two turns, so many fillers, and a request at the end."""
    yield text_message(Role.SYSTEM, "You are a careful engineer.")
    yield text_message(Role.USER, "Refactor the billing module so that invoices are computed in one place.")
    yield text_message(Role.ASSISTANT, "I will start with src/billing/invoice.py.")
    yield text_message(Role.USER, f"Good. {RULE}")
    yield text_message(Role.ASSISTANT, "Understood.")
    for n in range(fillers):
        yield call(n, "read_file", path=f"src/billing/part_{n}.py")
        yield answer(n, source(n))
        yield text_message(
            Role.ASSISTANT,
            f"part_{n}.py computes total_{n} and calls round_half_up because invoices need it. {THOUGHT}",
        )
    yield text_message(Role.USER, "Now delete what is no longer used, also in legacy/ if it is dead.")


def source(number: int) -> str:
    """Return a file to read: long enough that forty of them do not fit."""
    lines = [f"def total_{number}(lines):", f'    """Total of part {number}."""']
    lines += [f"    step_{number}_{i} = lines[{i}].amount * RATE_{i}" for i in range(30)]
    return "\n".join([*lines, f"    return round_half_up(step_{number}_29, 2)"])
