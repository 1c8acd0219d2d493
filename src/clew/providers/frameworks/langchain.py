"""LangChain's message objects: ``HumanMessage``, ``AIMessage``, ``ToolMessage``, ``SystemMessage``, others.

Messages are written as copies of the objects they were read from with new content, so that ids, artifacts
and metadata are kept.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from clew.message import (
    Compacted,
    JsonObject,
    Media,
    MediaKind,
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
from clew.providers.frameworks import Codec, original, unknown_entry
from clew.providers.wire import text_at

NAME = "langchain"
_ROLES = {
    "HumanMessage": Role.USER,
    "AIMessage": Role.ASSISTANT,
    "SystemMessage": Role.SYSTEM,
    "ToolMessage": Role.TOOL,
    "FunctionMessage": Role.TOOL,
}
_CHAT = {"user": Role.USER, "human": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_CALLS = frozenset({"tool_use", "tool_call", "function_call", "input_json_delta", "tool_call_chunk"})
"""Blocks that repeat entries of ``tool_calls``."""
_MEDIA: dict[str, MediaKind] = {
    "image_url": "image",
    "image": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "file": "file",
    "document": "file",
    "input_file": "file",
}


def read(entry: Any, place: int | None) -> tuple[Message, ...]:  # noqa: ANN401  # an object of LangChain's
    """Read one message."""
    role = _role(entry)
    if role is None:
        advice = "convert it first: langchain_core.messages.convert_to_messages"
        raise unknown_entry("LangChain", entry, place, advice)
    native = Native(NAME, entry)
    if role is Role.TOOL:
        parts = tuple(_parts(entry.content, Trust.UNTRUSTED))
        name = entry.name
        call_id = getattr(entry, "tool_call_id", None) or f"{NAME}:{name}"
        failed = getattr(entry, "status", "success") == "error"
        result = ToolResult(call_id, parts, failed, name, trust=Trust.UNTRUSTED, native=native)
        return (Message(Role.TOOL, (result,), native=native),)
    trust = trust_of(role)
    calls = (
        ToolCall(str(call.get("id")), call["name"], call["args"], trust=trust, native=Native(NAME, call))
        for call in getattr(entry, "tool_calls", ())
    )
    return (Message(role, (*_parts(entry.content, trust), *calls), native=native),)


def _role(entry: object) -> Role | None:
    """Return the role of a message by its class; None for other objects, such as ``RemoveMessage``."""
    names = [base.__name__ for base in type(entry).__mro__ if base.__module__.startswith("langchain_core")]
    if "ChatMessage" in names:
        return _CHAT.get(str(getattr(entry, "role", "")).lower())
    return next((_ROLES[name] for name in names if name in _ROLES), None)


def _parts(content: object, trust: Trust) -> Iterator[Part]:
    if isinstance(content, str):
        if content:
            yield Text(content, trust=trust, native=Native(NAME, content))
        return
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            yield Text(block, trust=trust, native=Native(NAME, block))
        elif isinstance(block, dict) and block.get("type") not in _CALLS:
            yield _part(block, trust)


def _part(block: JsonObject, trust: Trust) -> Part:
    """Read one block of content: text, thinking, a server-side call, media."""
    native, kind = Native(NAME, block), str(block.get("type", "untyped"))
    match kind:
        case "text" | "output_text" | "input_text" | "text-plain" if isinstance(block.get("text"), str):
            return Text(str(block["text"]), trust=trust, native=native)
        case "thinking" | "reasoning" | "redacted_thinking" | "reasoning_content":
            return _thinking(block, trust, native)
        case "server_tool_call" | "server_tool_use" if isinstance(block.get("id"), str):
            raw = block.get("args", block.get("input"))
            arguments = raw if isinstance(raw, dict | str) else {}
            name = str(block.get("name", ""))
            return ToolCall(str(block["id"]), name, arguments, server_side=True, trust=trust, native=native)
        case "compaction":
            text, sealed = text_at(block, "content"), text_at(block, "encrypted_content")
            return Compacted("compaction", text, sealed, trust=Trust.UNTRUSTED, native=native)
        case _ if kind in _MEDIA:
            return _media(kind, block, trust, native)
        case _:
            return Unknown(kind, trust=trust, native=native)


def _thinking(block: JsonObject, trust: Trust, native: Native) -> Part:
    value = block.get("thinking", block.get("reasoning", block.get("text", "")))
    extras = block.get("extras")
    signature = block.get("signature") or (extras.get("signature") if isinstance(extras, dict) else None)
    sealed = block.get("data")
    if isinstance(sealed, str):
        return Thinking("", sealed, redacted=True, trust=trust, native=native)
    item = block.get("id")
    return Thinking(
        value if isinstance(value, str) else "",
        signature if isinstance(signature, str) else None,
        item_id=item if isinstance(item, str) and item.startswith("rs_") else None,
        trust=trust,
        native=native,
    )


def _media(kind: str, block: JsonObject, trust: Trust, native: Native) -> Part:
    """Read a medium, whose source is in the block itself, under its kind or under ``source``."""
    inner = block.get(kind) if isinstance(block.get(kind), dict) else block.get("source")
    fields: JsonObject = {**block, **(inner if isinstance(inner, dict) else {})}
    url = fields.get("url", block.get("image_url"))
    data = fields.get("base64", fields.get("data"))
    if isinstance(url, str) and url.startswith("data:"):
        data, url = url.partition(",")[2], None
    return Media(
        _MEDIA[kind],
        text_at(fields, "mime_type") or text_at(fields, "media_type"),
        data if isinstance(data, str) else None,
        url if isinstance(url, str) else None,
        trust=trust,
        native=native,
    )


# Writing ---------------------------------------------------------------------------------------------


def write(messages: Sequence[Message]) -> list[Any]:
    """Write messages, as copies of the objects that they were read from."""
    return [_entry(message) for message in messages]


def _entry(message: Message) -> object:
    base = original(message, NAME)
    if base is None:
        classes = importlib.import_module("langchain_core.messages")
        name = {Role.ASSISTANT: "AIMessage", Role.SYSTEM: "SystemMessage"}.get(message.role, "HumanMessage")
        return getattr(classes, name)(content=message.text)
    return _copy(base, message)


def _copy(base: Any, message: Message) -> object:  # noqa: ANN401  # an object of LangChain's
    parts = message.parts
    if message.role is Role.TOOL and len(parts) == 1 and isinstance(parts[0], ToolResult):
        return base.model_copy(update={"content": _content(parts[0].parts, base.content, ())})
    kept_calls = [part for part in parts if isinstance(part, ToolCall) and not part.server_side]
    rest = [part for part in parts if part not in kept_calls]
    update: dict[str, Any] = {"content": _content(rest, base.content, kept_calls)}
    if getattr(base, "tool_calls", None):
        update["tool_calls"] = [_call(part) for part in kept_calls]
    return base.model_copy(update=update)


def _call(part: ToolCall) -> Any:  # noqa: ANN401  # a call as LangChain holds it
    base = original(part, NAME)
    call = base if isinstance(base, dict) else {"type": "tool_call"}
    # A call without an id was read as one with the id "None".
    call_id = call.get("id") if str(call.get("id")) == part.call_id and base else part.call_id
    return {**call, "id": call_id, "name": part.name, "args": part.input or {}}


def _content(parts: Sequence[Part], raw: object, calls: Sequence[ToolCall]) -> Any:  # noqa: ANN401  # text or blocks
    """Return parts in the form the content had: plain text, or blocks with those that repeat calls."""
    if isinstance(raw, str):
        return "\n".join(part.text for part in parts if isinstance(part, Text))
    blocks = [written for part in parts if (written := _block(part)) is not None]
    answers = {call.call_id: call for call in calls}
    for block in raw if isinstance(raw, list) else ():
        call = answers.get(str(block.get("id"))) if isinstance(block, dict) else None
        if call is not None and block.get("type") in _CALLS:
            blocks.append(_call_block(block, call))
    return blocks


def _call_block(block: JsonObject, call: ToolCall) -> JsonObject:
    """Return a block that repeats a call with the call's arguments: Anthropic's, or LangChain's own."""
    if isinstance(block.get("args"), str):
        return {**block, "args": json.dumps(call.input or {}, ensure_ascii=False)}
    return {**block, **{name: call.input or {} for name in ("input", "args") if name in block}}


def _block(part: Part) -> Any:  # noqa: ANN401  # a block, or plain text
    base = original(part, NAME)
    if isinstance(base, dict) and _part(base, part.trust) == part:
        return base
    if isinstance(part, Text):
        fields = base if isinstance(base, dict) and isinstance(base.get("text"), str) else {"type": "text"}
        return {**fields, "text": part.text}
    return None if isinstance(part, Thinking) else base


CODEC = Codec(NAME, read, write)
