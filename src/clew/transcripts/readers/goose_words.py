"""Parse the content blocks of a goose message."""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import (
    Json,
    JsonObject,
    Media,
    Message,
    Native,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
    trust_of,
)
from clew.transcripts.fields import mapping, objects, string
from clew.transcripts.media import kind_of

NAME = "goose"
_SCREEN_ONLY = ("systemNotification", "actionRequired", "toolConfirmationRequest")


def message_of(speaker: str, content: Json) -> Message:
    """Parse one message; blocks that only the screen shows are left out."""
    role = Role.ASSISTANT if speaker == "assistant" else Role.USER
    trust = trust_of(role)
    blocks = (block for block in objects(content) if block.get("type") not in _SCREEN_ONLY)
    parts = tuple(_part(block, trust) for block in blocks)
    if role is Role.USER and parts and all(isinstance(part, ToolResult) for part in parts):
        role = Role.TOOL
    return Message(role, parts)


def _part(block: JsonObject, trust: Trust) -> Part:
    match block.get("type"):
        case "text":
            return Text(string(block, "text") or "", trust=trust)
        case "image":
            media_type = string(block, "mimeType")
            return Media(kind_of(media_type), media_type, string(block, "data"), trust=trust)
        case "thinking" | "reasoning":
            text = string(block, "thinking") or string(block, "text") or ""
            return Thinking(text, string(block, "signature"), trust=trust)
        case "redactedThinking":
            return Thinking("", string(block, "data"), redacted=True, trust=trust)
        case "toolRequest" | "frontendToolRequest":
            return _call(block, trust)
        case "toolResponse":
            return _result(block)
        case kind:
            return Unknown(str(kind), trust=trust, native=Native(NAME, block))


def _call(block: JsonObject, trust: Trust) -> ToolCall:
    call = mapping(block, "toolCall")
    made = mapping(call, "value")
    given = made.get("arguments")
    # A call that goose could not parse has an error instead of a name.
    name = string(made, "name") or "unknown"
    arguments = given if isinstance(given, dict | str) else {}
    return ToolCall(string(block, "id") or "", name, arguments, trust=trust)


def _result(block: JsonObject) -> ToolResult:
    result = mapping(block, "toolResult")
    value, error = result.get("value"), string(result, "error")
    content = value.get("content") if isinstance(value, dict) else value
    parts = tuple(_output(content))
    if error:
        parts = (*parts, Text(error, trust=Trust.UNTRUSTED))
    failed = result.get("status") == "error" or mapping(result, "value").get("isError") is True
    return ToolResult(string(block, "id") or "", parts, failed, trust=Trust.UNTRUSTED)


def _output(content: Json) -> Iterator[Part]:
    """Parse a tool's output: blocks of the Model Context Protocol."""
    for block in objects(content):
        text = string(block, "text") or string(mapping(block, "resource"), "text")
        if text is not None:
            yield Text(text, trust=Trust.UNTRUSTED)
        else:
            yield _part(block, Trust.UNTRUSTED)
