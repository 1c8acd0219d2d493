"""Walk a Chat Completions body: its messages, their parts and their tool calls."""

from __future__ import annotations

from clew.message import JsonObject
from clew.providers.rules import once_per_check
from clew.providers.shapes import as_text, objects


@once_per_check
def messages(body: JsonObject) -> list[tuple[int, str, JsonObject]]:
    """Return the messages that are objects: index, role, message."""
    return [(i, as_text(item.get("role")), item) for i, item in objects(body.get("messages"))]


@once_per_check
def calls(body: JsonObject) -> list[tuple[str, JsonObject]]:
    """Return every tool call with its path."""
    return [
        (f"messages.{i}.tool_calls.{j}", call)
        for i, role, message in messages(body)
        if role == "assistant"
        for j, call in objects(message.get("tool_calls"))
    ]


@once_per_check
def parts(body: JsonObject) -> list[tuple[str, str, JsonObject]]:
    """Return every content part with its path and its message's role."""
    return [
        (f"messages.{i}.content.{j}", role, part)
        for i, role, message in messages(body)
        for j, part in objects(message.get("content"))
    ]
