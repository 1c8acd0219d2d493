"""Gemini: read and write the entries of ``contents`` and the ``systemInstruction`` field.

``{"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "ok"}}}]}`` is read as
a message with the role ``tool`` and one ``ToolResult``; every part keeps its object as ``native``. Older API
versions give calls no ids: such a call, and its response, get an id made from the function's name; it pairs
them and is never written.

Writing lays the fields of a part over its ``native`` object (``overlay``): an unchanged part is written as
that very object.
"""

from __future__ import annotations

import json
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
from clew.providers.media import kind_of_type
from clew.providers.shapes import object_or_none
from clew.providers.wire import (
    Wire,
    arguments_object,
    derived_id,
    is_derived_id,
    native_object,
    only_texts,
    origin_and_trust,
    original_system,
    overlay,
    text_at,
)

NAME = "gemini"

_SNAKE = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "thoughtSignature": "thought_signature",
    "mimeType": "mime_type",
    "fileUri": "file_uri",
    "displayName": "display_name",
}
"""The second spelling of each field name that the API accepts."""


def _field_name(name: str, holder: JsonObject | None) -> str:
    """Return a field's name in the spelling that an object uses; camel case if it does not have it."""
    snake = _SNAKE[name]
    return snake if holder is not None and snake in holder and name not in holder else name


def _field(holder: JsonObject, name: str) -> Json:
    """Return a field's value in either spelling."""
    return holder.get(_field_name(name, holder))


_RUN_CODE = "code_execution"
"""The tool name for code that the provider runs."""

ROLES = frozenset({"user", "model", "function", "tool", "system"})
"""The roles that the API knows."""

UNDERSTOOD = frozenset(
    {"role", "parts", "text", "thought", "name", "args", "response", "id", "language", "code"}
    | {"outcome", "output", "data"}
    | set(_SNAKE)
    | set(_SNAKE.values())
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
        value = _field(part, name)
        if isinstance(value, dict):
            return reader(value, trust, native)
    return None


def _parse_text(text: str, part: JsonObject, trust: Trust, native: Native) -> Part | None:
    if part.get("thought") is not True:
        return Text(text, trust=trust, native=native)
    signature = _field(part, "thoughtSignature")
    if not isinstance(signature, str | None):
        return None
    return Thinking(text, signature, not text, trust=trust, native=native)


def _parse_media(value: JsonObject, trust: Trust, native: Native) -> Part | None:
    media_type, uri, name = (_field_name(key, value) for key in ("mimeType", "fileUri", "displayName"))
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


def _parse_call(call: JsonObject, trust: Trust, native: Native) -> Part | None:
    """Read ``functionCall``."""
    name, arguments = call.get("name"), call.get("args")
    if not isinstance(name, str) or not only_texts(call, "id") or not isinstance(arguments, dict | None):
        return None
    call_id = text_at(call, "id") or derived_id(NAME, name)
    return ToolCall(call_id, name, {} if arguments is None else arguments, trust=trust, native=native)


def _parse_code(code: JsonObject, trust: Trust, native: Native) -> Part | None:
    """Read ``executableCode``: a server-side tool call."""
    call_id = text_at(code, "id") or derived_id(NAME, _RUN_CODE)
    return ToolCall(call_id, _RUN_CODE, code, server_side=True, trust=trust, native=native)


def _parse_outcome(outcome: JsonObject, _trust: Trust, native: Native) -> Part | None:
    """Read ``codeExecutionResult``."""
    output = outcome.get("output")
    if not isinstance(output, str | None):
        return None
    call_id = text_at(outcome, "id") or derived_id(NAME, _RUN_CODE)
    failed = outcome.get("outcome", "OUTCOME_OK") != "OUTCOME_OK"
    parts = (Text(output),) if output else ()
    return ToolResult(call_id, parts, failed, _RUN_CODE, server_side=True, native=native)


def _parse_response(response: JsonObject, _trust: Trust, native: Native) -> Part | None:
    """Read ``functionResponse``: the returned value, then its media."""
    name, extra = response.get("name"), response.get("parts")
    if not isinstance(name, str) or not only_texts(response, "id") or not isinstance(extra, list | None):
        return None
    call_id = text_at(response, "id") or derived_id(NAME, name)
    returned = response.get("response")
    parts: list[Part] = [] if returned is None else [_parse_returned(returned)]
    parts += [_parse_part(entry, Trust.UNTRUSTED) for entry in extra or ()]
    return ToolResult(call_id, tuple(parts), _is_error(returned), name, native=native)


def _parse_returned(returned: Json) -> Part:
    native = Native(NAME, returned)
    if not isinstance(returned, dict):
        return Unknown("response", native=native)
    try:
        return Text(_returned_text(returned), native=native)
    except RecursionError:  # nested too deeply for JSON; what reads the part refuses it
        return Unknown("response", native=native)


def _returned_text(returned: JsonObject) -> str:
    """Return the only text of a response, or all of it as JSON."""
    values = list(returned.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return json.dumps(returned, ensure_ascii=False)


def _is_error(returned: Json) -> bool:
    return isinstance(returned, dict) and "error" in returned and "output" not in returned


_NESTED_READERS: dict[str, Callable[[JsonObject, Trust, Native], Part | None]] = {
    "functionCall": _parse_call,
    "functionResponse": _parse_response,
    "inlineData": _parse_media,
    "fileData": _parse_media,
    "executableCode": _parse_code,
    "codeExecutionResult": _parse_outcome,
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
                signature = {_field_name("thoughtSignature", base): part.signature}
                yield overlay(base, {"text": part.text, "thought": True, **signature})
            case ToolCall() | ToolResult() | Media():
                yield _render_nested(part, base)
            case _ if part.native is not None and part.native.wire == NAME:
                yield part.native.value


def _render_nested(part: ToolCall | ToolResult | Media, base: JsonObject | None) -> JsonObject:
    """Write a part with one nested object: ``{"functionCall": {…}}``."""
    key = _field_name(_nested_key(part), base)
    original = object_or_none(base.get(key)) if base else None
    if isinstance(part, Media):
        if base is not None and _parse_part(base, part.trust) == part:
            return base
        other = _field_name("fileData" if part.data is not None else "inlineData", base)
        return overlay(base, {key: _media_fields(part, original), other: None})
    if isinstance(part, ToolCall):
        value = (_code_fields if _runs_code(part) else _call_fields)(part, original)
    else:
        value = (_outcome_fields if _runs_code(part) else _response_fields)(part, original)
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
    return part.server_side and part.name == _RUN_CODE


def _media_fields(part: Media, original: JsonObject | None) -> JsonObject:
    fields: JsonObject = {_field_name("mimeType", original): part.media_type}
    name = _field_name("displayName", original)
    if original is not None and name in original:  # only Vertex accepts it, so it is not added
        fields[name] = part.title
    if part.data is not None:
        fields["data"] = part.data
    if part.url is not None:
        fields[_field_name("fileUri", original)] = part.url
    return overlay(original, fields)


def _call_fields(part: ToolCall, original: JsonObject | None) -> JsonObject:
    """Write ``functionCall``."""
    fields: JsonObject = {"name": part.name, "args": arguments_object(part)}
    if original is not None and original.get("args") is None and not part.arguments:
        del fields["args"]
    if not is_derived_id(NAME, part.call_id):
        fields = {"id": part.call_id, **fields}
    return overlay(original, fields)


def _code_fields(part: ToolCall, original: JsonObject | None) -> JsonObject:
    """Write ``executableCode``."""
    return overlay(original, arguments_object(part))


def _outcome_fields(part: ToolResult, original: JsonObject | None) -> JsonObject:
    """Write ``codeExecutionResult``."""
    fields: JsonObject = {"outcome": "OUTCOME_FAILED" if part.is_error else "OUTCOME_OK"}
    if original is not None and part.is_error == (original.get("outcome", "OUTCOME_OK") != "OUTCOME_OK"):
        del fields["outcome"]
    if part.text or (original and original.get("output")):
        fields["output"] = part.text
    return overlay(original, fields)


def _response_fields(part: ToolResult, original: JsonObject | None) -> JsonObject:
    """Write ``functionResponse``."""
    unnamed = "" if original and original.get("name") == "" else "tool"  # an empty name is kept
    name = part.name or unnamed
    fields: JsonObject = {"name": name, "response": _response(part, original)}
    if not is_derived_id(NAME, part.call_id):
        fields = {"id": part.call_id, **fields}
    extra = [p for p in part.parts if not _is_returned(p, original)]
    if extra or (original and original.get("parts")):
        fields["parts"] = list(_write_parts(extra))
    return overlay(original, fields)


def _response(part: ToolResult, original: JsonObject | None) -> Json:
    """Return the original response if its text and error flag are unchanged, else a new one."""
    returned = [p for p in part.parts if _is_returned(p, original)]
    match returned:
        case [] if original is not None and original.get("response") is None:
            return None
        case [Unknown(native=Native(value=value))]:
            return value
        case [Text(text=text, native=Native(value=dict(data)))]:
            if text == _returned_text(data) and part.is_error == _is_error(data):
                return data
    key = "error" if part.is_error else "output"
    return {key: "\n".join(p.text for p in returned if isinstance(p, Text))}


def _is_returned(part: Part, original: JsonObject | None) -> bool:
    """Whether a part is the returned value, not one of the media that follow it."""
    if part.native is None or part.native.wire != NAME:
        return isinstance(part, Text)
    returned = original is not None and part.native.value is original.get("response")
    return returned and (isinstance(part, Text) or (isinstance(part, Unknown) and part.kind == "response"))


GEMINI = Wire(
    name=NAME,
    title="Gemini contents",
    list_key="contents",
    system_key="systemInstruction",
    parse_item=parse_item,
    render_items=render_items,
    parse_system=parse_system,
    render_system=render_system,
    rules_module="clew.providers.gemini.rules",
    roles=ROLES,
    understood=UNDERSTOOD,
    system_aliases=("system_instruction",),
)
