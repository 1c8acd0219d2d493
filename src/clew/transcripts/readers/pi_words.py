"""Parse pi's messages and content blocks."""

from __future__ import annotations

from clew.message import (
    JsonObject,
    Media,
    Message,
    Native,
    Origin,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
    said,
)
from clew.transcripts.fields import mapping, objects, string
from clew.transcripts.json_values import value_of
from clew.transcripts.media import kind_of
from clew.transcripts.typed import MACHINE, injected

NAME = "pi"


def message_of(message: JsonObject) -> Message | None:
    """Parse one message; None if its role is unknown."""
    match message.get("role"):
        case "user":
            return Message(Role.USER, _parts(message, Trust.USER))
        case "assistant":
            return Message(Role.ASSISTANT, _parts(message, Trust.ASSISTANT))
        case "toolResult":
            return Message(Role.TOOL, (_result(message),))
        case "bashExecution":
            return injected(_ran(message), Trust.UNTRUSTED)
        case "custom" | "hookMessage":
            return Message(Role.USER, _parts(message, MACHINE), Origin.INJECTED)
        case "branchSummary" | "compactionSummary":
            return said(Role.USER, string(message, "summary") or "", Origin.SUMMARY)
        case _:
            return None


def _parts(message: JsonObject, trust: Trust) -> tuple[Part, ...]:
    content = message.get("content")
    if isinstance(content, str):
        return (Text(content, trust=trust),)
    return tuple(_part(block, trust) for block in objects(content))


def _part(block: JsonObject, trust: Trust) -> Part:
    match block.get("type"):
        case "text":
            return Text(string(block, "text") or "", trust=trust)
        case "thinking":
            return _thinking(block, trust)
        case "toolCall":
            call_id, name = string(block, "id") or "", string(block, "name") or "unknown"
            return ToolCall(call_id, name, mapping(block, "arguments"), trust=trust)
        case "image":
            media_type = string(block, "mimeType")
            return Media(kind_of(media_type), media_type, string(block, "data"), trust=trust)
        case kind:
            return Unknown(str(kind), trust=trust, native=Native(NAME, block))


def _thinking(block: JsonObject, trust: Trust) -> Thinking:
    text, signature = string(block, "thinking") or "", string(block, "thinkingSignature")
    if block.get("redacted") is True:
        return Thinking("", signature, redacted=True, trust=trust)
    item = _reasoning_item(signature)
    if item:
        sealed = string(item, "encrypted_content")
        return Thinking(text, sealed, item_id=string(item, "id"), trust=trust)
    return Thinking(text, signature, trust=trust)


def _reasoning_item(signature: str | None) -> JsonObject:
    """Return the OpenAI Responses item that pi stores instead of a signature; empty if it is a signature."""
    if not signature or not signature.startswith("{"):
        return {}
    item, _ = value_of(signature)
    return item if isinstance(item, dict) else {}


def _result(message: JsonObject) -> ToolResult:
    parts = _parts(message, Trust.UNTRUSTED)
    failed = message.get("isError") is True
    call_id, name = string(message, "toolCallId") or "", string(message, "toolName")
    return ToolResult(call_id, parts, failed, name, trust=Trust.UNTRUSTED)


def _ran(message: JsonObject) -> str:
    """Return a command that the user ran outside the conversation, with its output."""
    text = f"$ {string(message, 'command') or ''}\n{string(message, 'output') or ''}"
    if message.get("exitCode"):
        text += f"\n(exit code {message['exitCode']})"
    return text
