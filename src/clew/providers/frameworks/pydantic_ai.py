"""pydantic-ai's ``ModelRequest`` and ``ModelResponse``.

A request contains parts of several roles (system prompt, user prompt, tool returns). It is read as one
message for each run of parts with the same role, and written back as one request.
"""

from __future__ import annotations

import importlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from clew.message import (
    Compacted,
    Media,
    MediaKind,
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
    trust_of,
)
from clew.providers.frameworks import Codec, original, unknown_entry

NAME = "pydantic_ai"
_INJECTED = "injected"
_MEDIA: dict[str, MediaKind] = {
    "image-url": "image",
    "document-url": "document",
    "audio-url": "audio",
    "video-url": "video",
    "uploaded-file": "file",
}


def read(entry: Any, place: int | None) -> tuple[Message, ...]:  # noqa: ANN401  # a request or response
    """Read one request or response."""
    kind = getattr(entry, "kind", None)
    if kind not in ("request", "response") or not isinstance(getattr(entry, "parts", None), Sequence):
        raise unknown_entry("pydantic-ai", entry, place, "pass ModelRequest and ModelResponse objects")
    native = Native(NAME, entry)
    if kind == "response":
        parts = tuple(_response_part(part) for part in entry.parts)
        return (Message(Role.ASSISTANT, parts, native=native),)
    messages: list[Message] = []
    for speaker, run in groupby(entry.parts, key=_speaker):
        role = Role.USER if speaker == _INJECTED else Role(speaker)
        origin = Origin.INJECTED if speaker == _INJECTED else Origin.SPOKEN
        trust = trust_of(role, origin)
        parts = tuple(item for part in run for item in _request_parts(part, trust))
        messages.append(Message(role, parts, origin, native=native))
    return tuple(messages)


def _speaker(part: Any) -> str:  # noqa: ANN401  # a part
    """Return the role of a request's part, or ``injected`` for text of the harness."""
    match part.part_kind:
        case "user-prompt" | "speech":
            return Role.USER.value
        case "tool-return":
            return Role.TOOL.value
        case "retry-prompt":
            return Role.TOOL.value if part.tool_name else _INJECTED
        case "retry-feedback" | "compaction":
            return _INJECTED
        case _:
            return Role.SYSTEM.value


def _request_parts(part: Any, trust: Trust) -> Iterator[Part]:  # noqa: ANN401  # a part
    native = Native(NAME, part)
    match part.part_kind:
        case "user-prompt" if isinstance(part.content, str):
            yield Text(part.content, trust=trust, native=native)
        case "user-prompt":
            yield from (_user_content(item, trust, native) for item in part.content if not _is_mark(item))
        case "tool-return":
            yield _result(part, native)
        case "retry-prompt" if part.tool_name:
            texts = (Text(part.model_response(), trust=Trust.UNTRUSTED),)
            call, name = part.tool_call_id, part.tool_name
            yield ToolResult(call, texts, is_error=True, name=name, trust=Trust.UNTRUSTED, native=native)
        case "compaction":
            yield Compacted("compaction", part.content, trust=Trust.UNTRUSTED, native=native)
        case "system-prompt" | "instruction" if isinstance(part.content, str):
            yield Text(part.content, trust=trust, native=native)
        case kind:
            yield Unknown(kind, trust=trust, native=native)


def _is_mark(item: object) -> bool:
    return getattr(item, "kind", None) == "cache-point"


def _user_content(item: Any, trust: Trust, native: Native) -> Part:  # noqa: ANN401  # text, or an object
    if isinstance(item, str):
        return Text(item, trust=trust, native=native)
    kind = getattr(item, "kind", "unknown")
    if kind == "text-content":
        return Text(item.content, trust=trust, native=native)
    if kind == "binary":
        return _binary(item, trust, native)
    if kind in _MEDIA:
        url, file_id = getattr(item, "url", None), getattr(item, "file_id", None)
        return Media(_MEDIA[kind], None, None, url, file_id, trust=trust, native=native)
    return Unknown(str(kind), trust=trust, native=native)


def _binary(item: Any, trust: Trust, native: Native) -> Media:  # noqa: ANN401  # binary content
    family = str(item.media_type).partition("/")[0]
    kind = family if family in ("image", "audio", "video") else "file"
    return Media(kind, item.media_type, b64encode(item.data).decode(), trust=trust, native=native)  # type: ignore[arg-type]


def _result(part: Any, native: Native, server_side: bool = False) -> ToolResult:  # noqa: ANN401  # a part
    content = part.content
    listed = content if isinstance(content, list | tuple) else [content]
    parts: list[Part] = []
    for item in listed:
        if isinstance(item, str):
            parts.append(Text(item, trust=Trust.UNTRUSTED))
        elif getattr(item, "kind", None) == "binary" or getattr(item, "kind", None) in _MEDIA:
            parts.append(_user_content(item, Trust.UNTRUSTED, native))
        else:
            parts.append(Text(_as_json(item), trust=Trust.UNTRUSTED))
    failed = getattr(part, "outcome", "success") in ("failed", "denied", "retried")
    call, name = part.tool_call_id, part.tool_name
    return ToolResult(call, tuple(parts), failed, name, server_side, trust=Trust.UNTRUSTED, native=native)


def _as_json(value: object) -> str:
    """Return a tool's value as the JSON that pydantic-ai sends to the model."""
    to_json = importlib.import_module("pydantic_core").to_json
    try:
        return str(to_json(value, fallback=repr, inf_nan_mode="null", bytes_mode="base64"), "utf-8")
    except ValueError:  # it contains itself, is nested too deep, or its own code failed
        return f"(a {type(value).__name__} that cannot be written as JSON)"


def _response_part(part: Any) -> Part:  # noqa: ANN401  # a part
    native, trust = Native(NAME, part), Trust.ASSISTANT
    match part.part_kind:
        case "text":
            return Text(part.content, trust=trust, native=native)
        case "thinking":
            return Thinking(part.content, part.signature, trust=trust, native=native)
        case "tool-call" | "builtin-tool-call" as kind:
            arguments = part.args if part.args is not None else {}
            server_side = kind != "tool-call"
            return ToolCall(
                part.tool_call_id, part.tool_name, arguments, server_side, trust=trust, native=native
            )
        case "builtin-tool-return":
            return _result(part, native, server_side=True)
        case "compaction":
            return Compacted("compaction", part.content, trust=Trust.UNTRUSTED, native=native)
        case "file":
            return _binary(part.content, trust, native)
        case kind:
            return Unknown(kind, trust=trust, native=native)


# Writing ---------------------------------------------------------------------------------------------


def write(messages: Sequence[Message]) -> list[Any]:
    """Write messages; those that were read from one request become one request."""
    written: list[Any] = []
    for _, run in groupby(
        messages, key=lambda message: id(message.native.value) if message.native else id(message)
    ):
        group = list(run)
        base = original(group[0], NAME)
        parts = [part for message in group for part in _parts(message)]
        if base is not None:
            written.append(replace(base, parts=parts))
        else:
            kind = "ModelResponse" if group[0].role is Role.ASSISTANT else "ModelRequest"
            written.append(getattr(importlib.import_module("pydantic_ai.messages"), kind)(parts=parts))
    return written


def _parts(message: Message) -> Iterator[Any]:
    """Yield the parts of a message as pydantic-ai parts; those read from one part become one part."""
    for key, run in groupby(message.parts, key=lambda part: id(part.native.value) if part.native else -1):
        parts = list(run)
        base: Any = parts[0].native.value if key != -1 and parts[0].native else None
        if base is None:
            yield from (_fresh(message.role, part) for part in parts if isinstance(part, Text))
        elif _reread(base, message) == parts:
            yield base
        else:
            yield from _rewritten(base, parts)


def _reread(base: Any, message: Message) -> list[Part]:  # noqa: ANN401  # a part
    if message.role is Role.ASSISTANT:
        return [_response_part(base)]
    return list(_request_parts(base, trust_of(message.role, message.origin)))


def _fresh(role: Role, part: Text) -> object:
    classes = importlib.import_module("pydantic_ai.messages")
    name = {Role.ASSISTANT: "TextPart", Role.SYSTEM: "SystemPromptPart"}.get(role, "UserPromptPart")
    return getattr(classes, name)(content=part.text)


def _rewritten(base: Any, parts: Sequence[Part]) -> Iterator[Any]:  # noqa: ANN401  # a part
    first = parts[0]
    if isinstance(first, ToolResult):
        yield replace(base, content=first.text)
    elif isinstance(first, ToolCall):
        yield replace(base, args=first.arguments)
    elif base.part_kind == "user-prompt" and not isinstance(base.content, str):
        yield replace(base, content=_current_content(base.content, parts))
    elif isinstance(first, Text):
        yield replace(base, content="\n".join(part.text for part in parts if isinstance(part, Text)))


def _current_content(content: Sequence[Any], parts: Sequence[Part]) -> list[Any]:
    """Return user content with the current texts and the objects that are still there."""
    objects = [item for item in content if not isinstance(item, str) and not _is_mark(item)]
    kept: list[Any] = []
    for part in parts:
        native = part.native
        same = [item for item in objects if native and _user_content(item, part.trust, native) == part]
        if same:
            kept.append(same[0])
        elif isinstance(part, Text):
            kept.append(part.text)
    return kept


CODEC = Codec(NAME, read, write)
