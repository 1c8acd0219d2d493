"""Looking at messages in the format of OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

Chat = list[dict[str, Any]]

SYSTEM = ("system", "developer")


def joined(content: Any) -> str:
    """Return a content as one text; what is no text is left out."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content or () if isinstance(part, dict))


def text_of(message: dict[str, Any]) -> str:
    """Return all that a message says: its words and its calls."""
    calls = (call["function"] for call in message.get("tool_calls") or ())
    told = [f"{call['name']}({call.get('arguments') or ''})" for call in calls]
    words = joined(message.get("content"))
    return "\n".join([words, *told] if words else told)


def system_first(messages: Chat) -> tuple[Chat, Chat]:
    """Return the system prompt that opens a list, and the rest."""
    count = 0
    while count < len(messages) and messages[count]["role"] in SYSTEM:
        count += 1
    return messages[:count], messages[count:]


def characters(messages: Chat) -> int:
    """Return how long all the texts are together."""
    return sum(len(text_of(message)) for message in messages)


# Reading and writing, for adapters whose peer has messages of its own --------------------------------


def said(role: str, text: str) -> dict[str, Any]:
    """Return a message of words."""
    return {"role": role, "content": text}


def asked(text: str, calls: list[tuple[str, str, Any]]) -> dict[str, Any]:
    """Return a message of the assistant's: its words and its calls, each with id, name and arguments."""
    if not calls:
        return said("assistant", text)
    told = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": as_json(arguments)}}
        for call_id, name, arguments in calls
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": told}


def answered(call_id: str, text: str) -> dict[str, Any]:
    """Return a tool's result."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def calls_of(message: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the id, the name and the arguments of a message's calls."""
    return [
        (call["id"], call["function"]["name"], arguments_of(call["function"]))
        for call in message.get("tool_calls") or ()
    ]


def arguments_of(function: dict[str, Any]) -> dict[str, Any]:
    """Return a call's arguments as an object, as all peers want them."""
    text = function.get("arguments") or "{}"
    try:
        found = json.loads(text)
    except ValueError:
        found = text
    return found if isinstance(found, dict) else {"input": found}


def as_json(value: Any) -> str:
    """Return arguments as the text that the wire wants."""
    return value if isinstance(value, str) else json.dumps(value)


def called(messages: Chat) -> dict[str, str]:
    """Return the name of the tool by the id of its call."""
    return {call_id: name for message in messages for call_id, name, _ in calls_of(message)}


def together(messages: Chat) -> Iterator[tuple[str, Chat]]:
    """Yield each message with its role; results in a row come as one, as most peers hold them."""
    for role, run in groupby(messages, key=lambda message: str(message["role"])):
        if role == "tool":
            yield role, list(run)
        else:
            yield from ((role, [message]) for message in run)
