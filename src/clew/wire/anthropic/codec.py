"""Anthropic Messages: read and write the entries of ``messages`` and the ``system`` field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
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
    lowest,
    trust_of,
)
from clew.wire.wire import overlay

NAME = "anthropic"


# Reading ---------------------------------------------------------------------------------------------


def parse_item(item: Json) -> Message:
    """Read one message. What is not of a known shape becomes an ``Unknown`` part."""
    native = Native(NAME, item)
    if not isinstance(item, dict):
        return Message(Role.USER, (Unknown("not-an-object", native=native),), native=native)
    role = _role(item.get("role"))
    parts = parse_content(item.get("content"), trust_of(role))
    if role is Role.USER and parts and all(isinstance(part, ToolResult) for part in parts):
        role = Role.TOOL
    return Message(role, parts, native=native)


def parse_system(value: Json) -> Message:
    """Read the ``system`` field."""
    return Message(Role.SYSTEM, parse_content(value, Trust.SYSTEM), native=Native(NAME, value))


def _role(value: Json) -> Role:
    return Role(value) if value in ("assistant", "system") else Role.USER


def parse_content(content: Json, trust: Trust) -> tuple[Part, ...]:
    """Read a ``content`` field: text, or a list of blocks."""
    if isinstance(content, str):
        return (Text(content, trust=trust),)
    if isinstance(content, list):
        return tuple(_parse_block(block, trust) for block in content)
    if content is None:
        return ()
    return (Unknown("content", trust=trust, native=Native(NAME, content)),)


def _parse_block(block: Json, trust: Trust) -> Part:
    native = Native(NAME, block)
    if isinstance(block, dict):
        kind = block.get("type")
        reader = _READERS.get(kind) if isinstance(kind, str) else None
        part = reader(block, trust, native) if reader else _parse_server_result(block, native)
        if part is not None:
            return part
    return Unknown(_kind(block), trust=trust, native=native)


def _kind(block: Json) -> str:
    return str(block.get("type") or "untyped") if isinstance(block, dict) else "not-an-object"


def _parse_text(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    text = block.get("text")
    return Text(text, trust=trust, native=native) if isinstance(text, str) else None


def _parse_thinking(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    text, signature = block.get("thinking"), block.get("signature")
    if not isinstance(text, str):
        return None
    return Thinking(text, signature if isinstance(signature, str) else None, trust=trust, native=native)


def _parse_redacted(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    data = block.get("data")
    if not isinstance(data, str):
        return None
    return Thinking("", data, redacted=True, trust=trust, native=native)


def _parse_call(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    call_id, name, given = block.get("id"), block.get("name"), block.get("input")
    if not isinstance(call_id, str) or not isinstance(name, str) or not isinstance(given, dict | str):
        return None
    server_side = block.get("type") != "tool_use"
    return ToolCall(call_id, name, given, server_side, trust=trust, native=native)


def _parse_result(block: JsonObject, _trust: Trust, native: Native) -> Part | None:
    call_id, content, error = block.get("tool_use_id"), block.get("content"), block.get("is_error")
    if not isinstance(call_id, str) or not isinstance(content, str | list | None):
        return None
    parts = parse_content(content, Trust.UNTRUSTED)
    return ToolResult(call_id, parts, error is True, trust=Trust.UNTRUSTED, native=native)


def _parse_server_result(block: JsonObject, native: Native) -> Part | None:
    """Read the answer of a tool the provider ran: any ``*_tool_result`` block with its call's id."""
    kind, call_id = block.get("type"), block.get("tool_use_id")
    if not isinstance(kind, str) or not kind.endswith("_tool_result") or not isinstance(call_id, str):
        return None
    payload = Unknown(kind, trust=Trust.UNTRUSTED, native=Native(NAME, block.get("content")))
    return ToolResult(call_id, (payload,), server_side=True, trust=Trust.UNTRUSTED, native=native)


def _parse_media(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") not in ("base64", "url", "file"):
        return None

    def field(key: str, holder: JsonObject = source) -> str | None:
        value = holder.get(key)
        return value if isinstance(value, str) else None

    return Media(
        "image" if block.get("type") == "image" else "document",
        media_type=field("media_type"),
        data=field("data"),
        url=field("url"),
        file_id=field("file_id"),
        title=field("title", block),
        trust=trust,
        native=native,
    )


def _parse_compaction(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    text, sealed = block.get("content"), block.get("encrypted_content")
    return Compacted(
        "compaction",
        text if isinstance(text, str) else None,
        sealed if isinstance(sealed, str) else None,
        trust=lowest((trust, Trust.UNTRUSTED)),
        native=native,
    )


_READERS = {
    "text": _parse_text,
    "thinking": _parse_thinking,
    "redacted_thinking": _parse_redacted,
    "tool_use": _parse_call,
    "server_tool_use": _parse_call,
    "mcp_tool_use": _parse_call,
    "tool_result": _parse_result,
    "image": _parse_media,
    "document": _parse_media,
    "compaction": _parse_compaction,
}


# Writing ---------------------------------------------------------------------------------------------


def render_items(message: Message) -> list[Json]:
    """Write one message as one entry."""
    return [_render_message(message)]


def _render_message(message: Message) -> Json:
    native = message.native
    if native and native.wire == NAME and not isinstance(native.value, dict):
        return native.value  # not an object when it came, and nothing of it can have been changed
    role = {Role.ASSISTANT: "assistant", Role.SYSTEM: "system", Role.DEVELOPER: "system"}
    fields: JsonObject = {
        "role": role.get(message.role, "user"),
        "content": render_content(message.parts, _native_content(native)),
    }
    if native and native.wire == NAME:
        if isinstance(native.value, dict) and _role(native.value.get("role")) == fields["role"]:
            del fields["role"]  # whatever spelling came in meant this role
        if fields["content"] == [] and _native_content(native) is None:
            del fields["content"]
    return overlay(native, NAME, fields)


def render_system(messages: Sequence[Message]) -> Json:
    """Write the ``system`` field; a lone untouched one comes back as it was."""
    if len(messages) == 1:
        native = messages[0].native
        given = native.value if native and native.wire == NAME else None
        return render_content(messages[0].parts, given)
    return [block for message in messages for block in cast(list[Json], render_content(message.parts, []))]


def _native_content(native: Native | None) -> Json:
    value = native.value if native and native.wire == NAME else None
    return value.get("content") if isinstance(value, dict) else None


def render_content(parts: Sequence[Part], given: Json = None) -> Json:
    """Write parts in the form they came in: text where it was text, else blocks."""
    match parts:
        case [Text(text=text, native=None)] if isinstance(given, str | None):
            return text
        case [Unknown(kind="content", native=Native(wire="anthropic", value=value))]:
            return value
        case _:
            return [_render_block(part) for part in parts]


def _render_block(part: Part) -> Json:
    fields = _fields(part)
    if fields is None or (
        part.native and part.native.wire == NAME and not isinstance(part.native.value, dict)
    ):
        return part.native.value if part.native else {"type": "text", "text": ""}
    return overlay(part.native, NAME, fields)


def _fields(part: Part) -> JsonObject | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking(redacted=True):
            return {"type": "redacted_thinking", "data": part.signature}
        case Thinking():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case ToolCall():
            return _call_fields(part)
        case ToolResult():
            return _result_fields(part)
        case Media():
            return _media_fields(part)
        case Compacted():
            return {"type": "compaction", "content": part.text, "encrypted_content": part.encrypted}
        case ApprovalRequest() | ApprovalAnswer() | Unknown():
            return None


def _call_fields(part: ToolCall) -> JsonObject:
    native = part.native.value if part.native and part.native.wire == NAME else None
    kind = native.get("type") if isinstance(native, dict) else "tool_use"
    given = native.get("input") if isinstance(native, dict) else None
    arguments = part.arguments if isinstance(given, str) else (part.input if part.input is not None else {})
    return {"type": kind, "id": part.call_id, "name": part.name, "input": arguments}


def _result_fields(part: ToolResult) -> JsonObject:
    native = part.native.value if part.native and part.native.wire == NAME else None
    if part.server_side and isinstance(native, dict):
        return {"tool_use_id": part.call_id}
    given = native.get("content") if isinstance(native, dict) else None
    fields: JsonObject = {"type": "tool_result", "tool_use_id": part.call_id}
    if part.parts or given is not None:
        fields["content"] = render_content(part.parts, given)
    if part.is_error or (isinstance(native, dict) and native.get("is_error") is True):
        fields["is_error"] = part.is_error
    return fields


def _media_fields(part: Media) -> JsonObject:
    native = part.native if part.native and part.native.wire == NAME else None
    held = native.value.get("source") if native and isinstance(native.value, dict) else None
    source_type = "base64" if part.data is not None else "url" if part.url is not None else "file"
    source = overlay(
        Native(NAME, held) if isinstance(held, dict) else None,
        NAME,
        {
            "type": source_type,
            "media_type": part.media_type,
            "data": part.data,
            "url": part.url,
            "file_id": part.file_id,
        },
    )
    return {
        "type": "image" if part.kind == "image" else "document",
        "source": source,
        "title": part.title,
    }
