"""Anthropic Messages: read and write the entries of ``messages`` and the ``system`` field.

``{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}`` is read as a
message with the role ``tool`` and one ``ToolResult``; every part keeps its block as ``native``.

Writing lays the fields of a part over its ``native`` object (``overlay``): an unchanged part is written as
that very object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
)
from clew.providers.wire import (
    Wire,
    arguments_object,
    kind_of,
    native_object,
    only_texts,
    origin_and_trust,
    overlay,
    read_content,
    text_at,
    write_content,
    write_system,
)

NAME = "anthropic"

ROLES = frozenset({"user", "assistant", "system"})

UNDERSTOOD = frozenset(
    {"role", "content", "type", "text", "thinking", "signature", "data", "source", "title"}
    | {"id", "name", "input", "tool_use_id", "is_error", "encrypted_content"}
)


# Reading ---------------------------------------------------------------------------------------------


def parse_item(item: Json) -> Message:
    """Read one message. Content of unknown shape becomes an ``Unknown`` part."""
    native = Native(NAME, item)
    if not isinstance(item, dict):
        return Message(Role.USER, (Unknown("not-an-object", native=native),), native=native)
    role = _role(item.get("role"))
    origin, trust = origin_and_trust(item, ROLES, role)
    parts = parse_content(item.get("content"), trust)
    if role is Role.USER and parts and all(isinstance(part, ToolResult) for part in parts):
        role = Role.TOOL
    return Message(role, parts, origin, native)


def parse_system(value: Json) -> Message:
    """Read the ``system`` field."""
    return Message(Role.SYSTEM, parse_content(value, Trust.SYSTEM), native=Native(NAME, value))


def _role(value: Json) -> Role:
    return Role(value) if value in ("assistant", "system") else Role.USER


def parse_content(content: Json, trust: Trust) -> tuple[Part, ...]:
    """Read a ``content`` field: text, or a list of blocks."""
    return read_content(content, trust, NAME, _parse_block)


def _parse_block(block: Json, trust: Trust) -> Part:
    native = Native(NAME, block)
    if isinstance(block, dict):
        kind = block.get("type")
        reader = _READERS.get(kind, _parse_server_result) if isinstance(kind, str) else None
        part = reader(block, trust, native) if reader else None
        if part is not None:
            return part
    return Unknown(kind_of(block), trust=trust, native=native)


def _parse_text(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    text = block.get("text")
    return Text(text, trust=trust, native=native) if isinstance(text, str) else None


def _parse_thinking(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    text = block.get("thinking")
    if not isinstance(text, str) or not only_texts(block, "signature"):
        return None
    return Thinking(text, text_at(block, "signature"), trust=trust, native=native)


def _parse_redacted(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    data = block.get("data")
    if not isinstance(data, str):
        return None
    return Thinking("", data, redacted=True, trust=trust, native=native)


def _parse_call(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    call_id, name, arguments = block.get("id"), block.get("name"), block.get("input")
    if not isinstance(call_id, str) or not isinstance(name, str) or not isinstance(arguments, dict | str):
        return None
    server_side = block.get("type") != "tool_use"
    return ToolCall(call_id, name, arguments, server_side, trust=trust, native=native)


def _parse_result(block: JsonObject, _trust: Trust, native: Native) -> Part | None:
    call_id = block.get("tool_use_id")
    if not isinstance(call_id, str):
        return None
    parts = parse_content(block.get("content"), Trust.UNTRUSTED)
    is_error, server_side = block.get("is_error") is True, block.get("type") != "tool_result"
    return ToolResult(call_id, parts, is_error, server_side=server_side, trust=Trust.UNTRUSTED, native=native)


def _parse_server_result(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    """Read the result of a server-side tool: any ``*_tool_result`` block with its call's id."""
    return _parse_result(block, trust, native) if kind_of(block).endswith("_tool_result") else None


def _parse_media(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") not in ("base64", "url", "file"):
        return None
    if not only_texts(source, "media_type", "data", "url", "file_id") or not only_texts(block, "title"):
        return None
    return Media(
        "image" if block.get("type") == "image" else "document",
        media_type=text_at(source, "media_type"),
        data=text_at(source, "data"),
        url=text_at(source, "url"),
        file_id=text_at(source, "file_id"),
        title=text_at(block, "title"),
        trust=trust,
        native=native,
    )


def _parse_compaction(block: JsonObject, _trust: Trust, native: Native) -> Part | None:
    if not only_texts(block, "content", "encrypted_content"):
        return None
    text, sealed = text_at(block, "content"), text_at(block, "encrypted_content")
    return Compacted("compaction", text, sealed, trust=Trust.UNTRUSTED, native=native)


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
    native = message.native
    if native and native.wire == NAME and not isinstance(native.value, dict):
        return [native.value]  # was not an object, so no part of it can have changed
    return [_render_message(message)]


def _render_message(message: Message) -> JsonObject:
    base = native_object(message.native, NAME)
    if base is None:
        return {"role": _role_name(message.role), "content": render_content(message.parts) or []}
    fields: JsonObject = {"content": render_content(message.parts, base.get("content"))}
    role = _role_name(message.role)
    if _role(base.get("role")) != role:  # the original spelling may already mean this role
        fields["role"] = role
    return overlay(base, fields)


def _role_name(role: Role) -> str:
    return {Role.ASSISTANT: "assistant", Role.SYSTEM: "system", Role.DEVELOPER: "system"}.get(role, "user")


def render_system(messages: Sequence[Message]) -> Json:
    """Write the ``system`` field; a single unchanged message is written as it was read."""
    return write_system(messages, NAME, _blocks)


def render_content(parts: Sequence[Part], original: Json = None) -> Json:
    """Write parts in the form they were read in: plain text if it was text, else blocks."""
    return write_content(parts, original, _blocks)


def _blocks(parts: Sequence[Part]) -> Iterator[Json]:
    for part in parts:
        if not isinstance(part, Unknown | ApprovalRequest | ApprovalAnswer):
            yield overlay(native_object(part.native, NAME), _fields(part))
        elif part.native is not None and part.native.wire == NAME:
            yield part.native.value


def _fields(part: Text | Thinking | ToolCall | ToolResult | Media | Compacted) -> JsonObject:
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


def _call_fields(part: ToolCall) -> JsonObject:
    base = native_object(part.native, NAME)
    kind: Json = "server_tool_use" if part.server_side else "tool_use"
    original: Json = None
    if base is not None:
        kind, original = base["type"], base["input"]
    arguments = part.arguments if isinstance(original, str) else arguments_object(part)
    return {"type": kind, "id": part.call_id, "name": part.name, "input": arguments}


def _result_fields(part: ToolResult) -> JsonObject:
    base = native_object(part.native, NAME) or {"type": "tool_result"}
    fields: JsonObject = {"type": base["type"], "tool_use_id": part.call_id}
    original = base.get("content")
    if part.parts or original is not None:
        fields["content"] = render_content(part.parts, original)
    if part.is_error or base.get("is_error") is True:
        fields["is_error"] = part.is_error
    return fields


def _media_fields(part: Media) -> JsonObject:
    base = native_object(part.native, NAME)
    if base is not None and part.native and _parse_media(base, part.trust, part.native) == part:
        return {}
    source: JsonObject = {
        "type": "base64" if part.data is not None else "url" if part.url is not None else "file",
        "media_type": part.media_type if part.data is not None else None,
        "data": part.data,
        "url": part.url,
        "file_id": part.file_id,
    }
    return {
        "type": "image" if part.kind == "image" else "document",
        "source": overlay(None, source),
        "title": part.title,
    }


ANTHROPIC = Wire(
    name=NAME,
    title="Anthropic Messages",
    list_key="messages",
    system_key="system",
    parse_item=parse_item,
    render_items=render_items,
    parse_system=parse_system,
    render_system=render_system,
    rules_module="clew.providers.anthropic.rules",
    roles=ROLES,
    understood=UNDERSTOOD,
)
