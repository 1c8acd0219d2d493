"""Gemini: read and write the entries of ``contents`` and the ``systemInstruction`` field.

``{"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "ok"}}}]}`` is read as
a message with the role ``tool`` and one ``ToolResult``; every part keeps its object as ``native``.

Writing lays the fields of a part over its ``native`` object (``overlay``): an unchanged part is written as
that very object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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
)
from clew.providers.gemini.calls import (
    NAME,
    RUN_CODE,
    SNAKE,
    call_fields,
    code_fields,
    field,
    field_name,
    outcome_fields,
    parse_call,
    parse_code,
    parse_outcome,
    parse_response,
    response_fields,
)
from clew.providers.media import kind_of_type
from clew.providers.shapes import object_or_none
from clew.providers.wire import native_object, only_texts, origin_and_trust, original_system, overlay, text_at

ROLES = frozenset({"user", "model", "function", "tool", "system"})
"""The roles that the API knows."""

UNDERSTOOD = frozenset(
    {"role", "parts", "text", "thought", "name", "args", "response", "id", "language", "code"}
    | {"outcome", "output", "data"}
    | set(SNAKE)
    | set(SNAKE.values())
)
"""The fields that a message and its parts represent; a conversion reports others as lost."""

_ROLE_BY_NAME = {"model": Role.ASSISTANT, "function": Role.TOOL, "tool": Role.TOOL, "system": Role.SYSTEM}
"""What Gemini's roles are read as; any other role is read as the user's."""


# Reading ---------------------------------------------------------------------------------------------


def parse_item(item: Json) -> Message:
    """Read one content. Parts of unknown shape become ``Unknown``."""
    native = Native(NAME, item)
    if not isinstance(item, dict):
        return Message(Role.USER, (Unknown("not-an-object", native=native),), native=native)
    role = _role(item.get("role"))
    # By Gemini's reference, a content without a role is the user's; one with an unknown role is not.
    named = item.get("role")
    origin, trust = origin_and_trust({"role": "user" if named in (None, "") else named}, ROLES, role)
    parts = _parse_parts(item.get("parts"), trust)
    if role is Role.USER and parts and all(isinstance(part, ToolResult) for part in parts):
        role = Role.TOOL
    return Message(role, parts, origin, native)


def parse_system(value: Json) -> Message:
    """Read the ``systemInstruction`` field: a content, or plain text as the SDKs accept it."""
    native = Native(NAME, value)
    if isinstance(value, str):
        return Message(Role.SYSTEM, (Text(value, trust=Trust.SYSTEM),), native=native)
    if not isinstance(value, dict):
        return Message(Role.SYSTEM, (Unknown("not-an-object", native=native),), native=native)
    return Message(Role.SYSTEM, _parse_parts(value.get("parts"), Trust.SYSTEM), native=native)


def _role(value: Json) -> Role:
    return _ROLE_BY_NAME.get(value, Role.USER) if isinstance(value, str) else Role.USER


def _parse_parts(parts: Json, trust: Trust) -> tuple[Part, ...]:
    if parts is None:
        return ()
    if not isinstance(parts, list):
        return (Unknown("not-a-list", trust=trust, native=Native(NAME, parts)),)
    return tuple([_parse_part(part, trust) for part in parts])


def _parse_part(part: Json, trust: Trust) -> Part:
    native = Native(NAME, part)
    if not isinstance(part, dict):
        return Unknown("not-an-object", trust=trust, native=native)
    first_field = next(iter(part), "empty")
    return _parse_known(part, trust, native) or Unknown(first_field, trust=trust, native=native)


def _parse_known(part: JsonObject, trust: Trust, native: Native) -> Part | None:
    text = part.get("text")
    if isinstance(text, str):
        return _parse_text(text, part, trust, native)
    for name, reader in _NESTED_READERS.items():
        value = field(part, name)
        if isinstance(value, dict):
            return reader(value, trust, native)
    return None


def _parse_text(text: str, part: JsonObject, trust: Trust, native: Native) -> Part | None:
    if part.get("thought") is not True:
        return Text(text, trust=trust, native=native)
    signature = field(part, "thoughtSignature")
    if not isinstance(signature, str | None):
        return None
    return Thinking(text, signature, not text, trust=trust, native=native)


def _parse_function_response(value: JsonObject, _trust: Trust, native: Native) -> Part | None:
    return parse_response(value, native, _parse_part)


def _parse_media(value: JsonObject, trust: Trust, native: Native) -> Part | None:
    media_type, uri, name = (field_name(key, value) for key in ("mimeType", "fileUri", "displayName"))
    if not only_texts(value, "data", media_type, uri, name) or not (value.get("data") or value.get(uri)):
        return None
    return Media(
        kind_of_type(text_at(value, media_type)),
        text_at(value, media_type),
        text_at(value, "data"),
        text_at(value, uri),
        title=text_at(value, name),
        trust=trust,
        native=native,
    )


_NESTED_READERS: dict[str, Callable[[JsonObject, Trust, Native], Part | None]] = {
    "functionCall": parse_call,
    "functionResponse": _parse_function_response,
    "inlineData": _parse_media,
    "fileData": _parse_media,
    "executableCode": parse_code,
    "codeExecutionResult": parse_outcome,
}
"""How a part with one nested object is read, by the field that holds the object."""


# Writing ---------------------------------------------------------------------------------------------


def render_items(message: Message) -> list[Json]:
    """Write one message as one content."""
    native = message.native
    if native and native.wire == NAME and not isinstance(native.value, dict):
        return [native.value]  # was not an object, so no part of it can have changed
    return [_render_content(message)]


def _render_content(message: Message) -> JsonObject:
    base = native_object(message.native, NAME)
    role = "model" if message.role is Role.ASSISTANT else "user"
    if base is None:
        return {"role": role, "parts": list(_write_parts(message.parts))}
    fields: JsonObject = {}
    if (_role(base.get("role")) is Role.ASSISTANT) != (role == "model"):
        fields["role"] = role
    if message.parts or base.get("parts"):
        fields["parts"] = _render_parts(message.parts, base.get("parts"))
    return overlay(base, fields)


def render_system(messages: Sequence[Message]) -> Json:
    """Write the ``systemInstruction`` field; a single unchanged message is written as it was read."""
    parts = [part for message in messages for part in message.parts]
    original = original_system(messages, NAME)
    if isinstance(original, str) and original == messages[0].text:
        return original
    match parts:
        case [Unknown(native=Native(value=value))] if value is original:
            return original
    base = original if isinstance(original, dict) else {}
    if original is base and not parts and not base.get("parts"):
        return base
    return overlay(base, {"parts": _render_parts(parts, base.get("parts"))})


def _render_parts(parts: Sequence[Part], original: Json) -> Json:
    match parts:
        case [Unknown(native=Native() as native)] if native.value is original:
            return original  # was not a list
        case _:
            return list(_write_parts(parts))


def _write_parts(parts: Sequence[Part]) -> Iterator[Json]:
    for part in parts:
        base = native_object(part.native, NAME)
        match part:
            case Text():
                yield overlay(base, {"text": part.text})
            case Thinking():
                signature = {field_name("thoughtSignature", base): part.signature}
                yield overlay(base, {"text": part.text, "thought": True, **signature})
            case ToolCall() | ToolResult() | Media():
                yield _render_nested(part, base)
            case _ if part.native is not None and part.native.wire == NAME:
                yield part.native.value


def _render_nested(part: ToolCall | ToolResult | Media, base: JsonObject | None) -> JsonObject:
    """Write a part with one nested object: ``{"functionCall": {…}}``."""
    key = field_name(_nested_key(part), base)
    original = object_or_none(base.get(key)) if base else None
    match part:
        case ToolCall() if _runs_code(part):
            value = code_fields(part, original)
        case ToolCall():
            value = call_fields(part, original)
        case ToolResult() if _runs_code(part):
            value = outcome_fields(part, original)
        case ToolResult():
            value = response_fields(part, original, lambda parts: list(_write_parts(parts)))
        case Media():
            if base is not None and _parse_part(base, part.trust) == part:
                return base
            other = "fileData" if part.data is not None else "inlineData"
            return overlay(base, {key: _media_fields(part, original), field_name(other, base): None})
    return overlay(base, {key: value})


def _nested_key(part: ToolCall | ToolResult | Media) -> str:
    match part:
        case ToolCall():
            return "executableCode" if _runs_code(part) else "functionCall"
        case ToolResult():
            return "codeExecutionResult" if _runs_code(part) else "functionResponse"
        case Media():
            return "inlineData" if part.data is not None else "fileData"


def _runs_code(part: ToolCall | ToolResult) -> bool:
    return part.server_side and part.name == RUN_CODE


def _media_fields(part: Media, original: JsonObject | None) -> JsonObject:
    fields: JsonObject = {field_name("mimeType", original): part.media_type}
    name = field_name("displayName", original)
    if original is not None and name in original:  # only Vertex accepts it, so it is not added
        fields[name] = part.title
    if part.data is not None:
        fields["data"] = part.data
    if part.url is not None:
        fields[field_name("fileUri", original)] = part.url
    return overlay(original, fields)
