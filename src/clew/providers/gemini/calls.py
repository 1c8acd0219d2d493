"""Function calls and their responses in Gemini contents, and the two spellings of field names.

Older API versions give calls no ids. A call without one, and its response, get an id made from the function's
name; it pairs them and is never written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from clew.message import Json, JsonObject, Native, Part, Text, ToolCall, ToolResult, Trust, Unknown
from clew.providers.wire import arguments_object, derived_id, is_derived_id, only_texts, overlay, text_at

NAME = "gemini"

SNAKE = {
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


def field_name(name: str, holder: JsonObject | None) -> str:
    """Return a field's name in the spelling that an object uses; camel case if it does not have it."""
    snake = SNAKE[name]
    return snake if holder is not None and snake in holder and name not in holder else name


def field(holder: JsonObject, name: str) -> Json:
    """Return a field's value in either spelling."""
    return holder.get(field_name(name, holder))


RUN_CODE = "code_execution"
"""The tool name for code that the provider runs."""


# Reading ---------------------------------------------------------------------------------------------


def parse_call(call: JsonObject, trust: Trust, native: Native) -> Part | None:
    """Read ``functionCall``."""
    name, arguments = call.get("name"), call.get("args")
    if not isinstance(name, str) or not only_texts(call, "id") or not isinstance(arguments, dict | None):
        return None
    call_id = text_at(call, "id") or derived_id(NAME, name)
    return ToolCall(call_id, name, {} if arguments is None else arguments, trust=trust, native=native)


def parse_code(code: JsonObject, trust: Trust, native: Native) -> Part | None:
    """Read ``executableCode``: a server-side tool call."""
    call_id = text_at(code, "id") or derived_id(NAME, RUN_CODE)
    return ToolCall(call_id, RUN_CODE, code, server_side=True, trust=trust, native=native)


def parse_outcome(outcome: JsonObject, _trust: Trust, native: Native) -> Part | None:
    """Read ``codeExecutionResult``."""
    output = outcome.get("output")
    if not isinstance(output, str | None):
        return None
    call_id = text_at(outcome, "id") or derived_id(NAME, RUN_CODE)
    failed = outcome.get("outcome", "OUTCOME_OK") != "OUTCOME_OK"
    parts = (Text(output),) if output else ()
    return ToolResult(call_id, parts, failed, RUN_CODE, server_side=True, native=native)


def parse_response(
    response: JsonObject, native: Native, parse_part: Callable[[Json, Trust], Part]
) -> Part | None:
    """Read ``functionResponse``: the returned value, then its media."""
    name, extra = response.get("name"), response.get("parts")
    if not isinstance(name, str) or not only_texts(response, "id") or not isinstance(extra, list | None):
        return None
    call_id = text_at(response, "id") or derived_id(NAME, name)
    returned = response.get("response")
    parts: list[Part] = [] if returned is None else [_parse_returned(returned)]
    parts += [parse_part(entry, Trust.UNTRUSTED) for entry in extra or ()]
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


# Writing ---------------------------------------------------------------------------------------------


def call_fields(part: ToolCall, original: JsonObject | None) -> JsonObject:
    """Write ``functionCall``."""
    fields: JsonObject = {"name": part.name, "args": arguments_object(part)}
    if original is not None and original.get("args") is None and not part.arguments:
        del fields["args"]
    if not is_derived_id(NAME, part.call_id):
        fields = {"id": part.call_id, **fields}
    return overlay(original, fields)


def code_fields(part: ToolCall, original: JsonObject | None) -> JsonObject:
    """Write ``executableCode``."""
    return overlay(original, arguments_object(part))


def outcome_fields(part: ToolResult, original: JsonObject | None) -> JsonObject:
    """Write ``codeExecutionResult``."""
    fields: JsonObject = {"outcome": "OUTCOME_FAILED" if part.is_error else "OUTCOME_OK"}
    if original is not None and part.is_error == (original.get("outcome", "OUTCOME_OK") != "OUTCOME_OK"):
        del fields["outcome"]
    if part.text or (original and original.get("output")):
        fields["output"] = part.text
    return overlay(original, fields)


def response_fields(
    part: ToolResult, original: JsonObject | None, write_parts: Callable[[Sequence[Part]], list[Json]]
) -> JsonObject:
    """Write ``functionResponse``."""
    unnamed = "" if original and original.get("name") == "" else "tool"  # an empty name is kept
    name = part.name or unnamed
    fields: JsonObject = {"name": name, "response": _response(part, original)}
    if not is_derived_id(NAME, part.call_id):
        fields = {"id": part.call_id, **fields}
    extra = [p for p in part.parts if not _is_returned(p, original)]
    if extra or (original and original.get("parts")):
        fields["parts"] = write_parts(extra)
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
