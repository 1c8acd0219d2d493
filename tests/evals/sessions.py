"""Invented sessions with a known future: what the continuation needs is written here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from clew.message import Item, Message, Role, Text, ToolCall, ToolResult, Trust, text_message
from clew_evals.find_needs import needs_of
from clew_evals.needs import Needs
from clew_evals.sessions import Cut

FILLER = "the quick brown fox jumps over the lazy dog while nothing of note happens here\n" * 12


def agent(text: str) -> Message:
    return text_message(Role.ASSISTANT, text)


def user(text: str) -> Message:
    return text_message(Role.USER, text)


def call(number: int, name: str, **arguments: object) -> Message:
    return Message(Role.ASSISTANT, (ToolCall(f"c{number}", name, dict(arguments)),))  # type: ignore[arg-type]


def result(number: int, text: str, *, is_error: bool = False) -> Message:
    words = Text(text, trust=Trust.UNTRUSTED)
    return Message(Role.TOOL, (ToolResult(f"c{number}", (words,), is_error=is_error),))


def items(*messages: Message, start: int = 1) -> tuple[Item, ...]:
    return tuple(Item(f"m{n}", message) for n, message in enumerate(messages, start=start))


def cut(before: list[Message], after: list[Message], system: str = "") -> Cut:
    """Cut between two lists of messages, with the needs of the second found."""
    prompt = items(text_message(Role.SYSTEM, system), start=0) if system else ()
    found = Cut("s", "set", "made", prompt, items(*before), later=items(*after, start=len(before) + 1))
    return replace(found, needs=needs_of(found, lambda _: False))


def needs(of: Cut) -> Needs:
    assert of.needs is not None
    return of.needs


def long_session(name: str, turns: int = 40) -> list[dict[str, object]]:
    """Return a session as chat messages; late turns use what an early one found."""
    messages: list[dict[str, object]] = [
        {"role": "user", "content": f"Fix the parser of {name}. Never modify files under legacy/ please."}
    ]
    for n in range(turns):
        ask = {"name": "read", "arguments": json.dumps({"path": f"src/{name}/part_{n}.py"})}
        told = f"the retry limit of stage {n} is called limit_{name}_{n}x\n{FILLER}"
        messages += [
            {
                "role": "assistant",
                "content": f"Now the module number {n}.",
                "tool_calls": [{"id": f"c{n}", "type": "function", "function": ask}],
            },
            {"role": "tool", "tool_call_id": f"c{n}", "content": told},
        ]
        if n > turns // 2:
            early = n - turns // 2
            messages.append(
                {"role": "assistant", "content": f"As seen, limit_{name}_{early}x is the retry limit there."}
            )
            messages.append({"role": "user", "content": "Go on."})
    return messages


def write_sessions(folder: Path, count: int = 3) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        name = ("alpha", "beta", "gamma", "delta")[number]
        (folder / f"{name}.json").write_text(json.dumps(long_session(name)))
    return folder
