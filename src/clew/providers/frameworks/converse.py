"""The messages of Bedrock's Converse API, also used by Strands Agents: each block has one key.

``{"role": "user", "content": [{"text": …}, {"toolUse": …}, {"toolResult": …}, {"reasoningContent": …}]}``
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, cast

from clew.errors import CannotCarry, UnknownEntry
from clew.message import (
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
from clew.providers.frameworks import Codec
from clew.providers.shapes import object_or_none
from clew.providers.wire import arguments_object, native_object, overlay, text_at

NAME = "converse"
_MEDIA: tuple[MediaKind, ...] = ("image", "document", "audio", "video")
"""Kinds of media that have a block; its key is the kind."""


def read(entry: Any, place: int | None) -> tuple[Message, ...]:  # noqa: ANN401  # a dictionary
    """Read one message."""
    role, content = (entry.get("role"), entry.get("content")) if isinstance(entry, dict) else (None, None)
    if role not in ("user", "assistant") or not isinstance(content, list):
        what = (
            f"entry {place or 0} of this Converse list has no role of user or assistant, or no content list"
        )
        raise UnknownEntry(what)
    speaker = Role(role)
    parts = tuple(_part(block, trust_of(speaker)) for block in content if not _is_mark(block))
    if speaker is Role.USER and parts and all(isinstance(part, ToolResult) for part in parts):
        speaker = Role.TOOL
    return (Message(speaker, parts, native=Native(NAME, entry)),)


def _is_mark(block: object) -> bool:
    return isinstance(block, dict) and "cachePoint" in block


def _part(block: Any, trust: Trust) -> Part:  # noqa: ANN401  # JSON
    """Read one block, which has one key: ``{"toolUse": {"toolUseId", "name", "input"}}``."""
    native = Native(NAME, block)
    kind = next(iter(block), "empty") if isinstance(block, dict) else "not-an-object"
    value = block.get(kind) if isinstance(block, dict) else None
    if isinstance(value, str) and kind == "text":
        return Text(value, trust=trust, native=native)
    if not isinstance(value, dict):
        return Unknown(str(kind), trust=trust, native=native)
    match kind:
        case "toolUse" if isinstance(value.get("toolUseId"), str) and isinstance(value.get("name"), str):
            raw = value.get("input")
            arguments = raw if isinstance(raw, dict | str) else {"input": raw}
            return ToolCall(value["toolUseId"], value["name"], arguments, trust=trust, native=native)
        case "toolResult" if isinstance(value.get("toolUseId"), str):
            listed = value.get("content")
            parts = tuple(_part(item, Trust.UNTRUSTED) for item in listed) if isinstance(listed, list) else ()
            failed = value.get("status") == "error"
            return ToolResult(value["toolUseId"], parts, failed, trust=Trust.UNTRUSTED, native=native)
        case "json":
            return Text(json.dumps(value, ensure_ascii=False), trust=trust, native=native)
        case "reasoningContent":
            return _thinking(value, trust, native)
        case "image" | "document" | "audio" | "video":
            return _media(kind, value, trust, native)
        case _:
            return Unknown(kind, trust=trust, native=native)


def _thinking(value: JsonObject, trust: Trust, native: Native) -> Part:
    reasoning, sealed = value.get("reasoningText"), value.get("redactedContent")
    if isinstance(reasoning, dict) and isinstance(reasoning.get("text"), str):
        return Thinking(str(reasoning["text"]), text_at(reasoning, "signature"), trust=trust, native=native)
    if sealed is not None:
        return Thinking("", _base64(sealed), redacted=True, trust=trust, native=native)
    return Unknown("reasoningContent", trust=trust, native=native)


def _media(kind: str, value: JsonObject, trust: Trust, native: Native) -> Part:
    source = value.get("source")
    data = source.get("bytes") if isinstance(source, dict) else None
    where = source.get("s3Location") if isinstance(source, dict) else None
    return Media(
        cast(MediaKind, kind),
        f"{kind}/{value.get('format')}",
        None if data is None else _base64(data),
        text_at(where, "uri") if isinstance(where, dict) else None,
        title=text_at(value, "name"),
        trust=trust,
        native=native,
    )


def _base64(data: object) -> str:
    return b64encode(data).decode() if isinstance(data, bytes) else str(data)


def write(messages: Sequence[Message]) -> list[Any]:
    """Write messages, based on the dictionaries that they were read from."""
    return [_entry(message) for message in messages]


def _entry(message: Message) -> JsonObject:
    base = native_object(message.native, NAME)
    role = "assistant" if message.role is Role.ASSISTANT else "user"
    content = _with_cache_points([_block(part) for part in message.parts], base)
    return overlay(base, cast(JsonObject, {"role": role, "content": content}))


def _with_cache_points(blocks: list[Any], base: JsonObject | None) -> list[Any]:
    """Return the blocks with the original's cache points, each after the same number of blocks as before.

    Of two that would be neighbours because the blocks between them were dropped, one stays.
    """
    original = base.get("content") if base else None
    if not isinstance(original, list):
        return blocks
    result = list(blocks)
    for index, block in enumerate(original):
        if _is_mark(block) and not any(map(_is_mark, result[:index][-1:])):
            result.insert(index, block)
    return result


def _block(part: Part) -> Any:  # noqa: ANN401  # JSON, with bytes
    """Return a part as a block: the original if it is unchanged, else a new one that keeps its other fields.

    A part that Converse cannot express raises ``CannotCarry``: a block is never left out silently.
    """
    if isinstance(part, Unknown) and part.native is not None and part.native.wire == NAME:
        return part.native.value
    base = native_object(part.native, NAME)
    if base is not None and _part(base, part.trust) == part:
        return base
    match part:
        case Text():
            return {"text": part.text}
        case ToolCall():
            fields: JsonObject = {
                "toolUseId": part.call_id,
                "name": part.name,
                "input": arguments_object(part),
            }
            return {"toolUse": overlay(_inner(base, "toolUse"), fields)}
        case ToolResult():
            status = "error" if part.is_error else "success"
            content = [_block(inner) for inner in part.parts]
            fields = {"toolUseId": part.call_id, "status": status, "content": content}
            return {"toolResult": overlay(_inner(base, "toolResult"), fields)}
        case Thinking():
            return {"reasoningContent": _reasoning(part)}
        case Media(data=str() as data, kind=kind) if kind in _MEDIA:
            return {kind: _media_fields(part, {"bytes": _bytes(data)})}
        case Media(url=str() as url, kind=kind) if kind in _MEDIA and url.startswith("s3://"):
            return {kind: _media_fields(part, {"s3Location": {"uri": url}})}
        case _:
            what = f"a {part.kind} without data" if isinstance(part, Media) else f"{type(part).__name__}"
            raise CannotCarry(
                f"{what} cannot be written as a Converse block", "send it as text, or drop the message"
            )


def _inner(base: JsonObject | None, kind: str) -> JsonObject | None:
    """Return the object under a block's only key."""
    return object_or_none(base.get(kind)) if base else None


def _reasoning(part: Thinking) -> dict[str, Any]:
    if part.redacted:
        return {"redactedContent": _bytes(part.signature or "")}
    signature = {} if part.signature is None else {"signature": part.signature}
    return {"reasoningText": {"text": part.text, **signature}}


def _media_fields(part: Media, source: dict[str, Any]) -> dict[str, Any]:
    fields = {"format": (part.media_type or "").rpartition("/")[2], "source": source}
    return fields if part.title is None else {**fields, "name": part.title}


def _bytes(data: str) -> bytes | str:
    """Return base64 text as bytes, as boto3 expects; other text unchanged."""
    try:
        return b64decode(data, validate=True)
    except ValueError:
        return data


CODEC = Codec(NAME, read, write)
