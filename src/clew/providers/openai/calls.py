"""Tool calls and their results in OpenAI Chat Completions, in the current and the legacy form.

The legacy ``function_call`` and the calls of some compatible servers have no id: such a call and its result
get an id made from the tool's name, which is never written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from clew.message import (
    Json,
    JsonObject,
    Native,
    Part,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
)
from clew.providers.wire import derived_id, overlay, own, same_wire, text_at

NAME = "openai"

STRAY = "entry of tool_calls"
"""The kind of an ``Unknown`` part that was read from the list of calls."""


def parse_calls(item: JsonObject) -> Iterator[Part]:
    """Yield the calls of an assistant message."""
    entries, legacy = item.get("tool_calls"), item.get("function_call")
    if isinstance(entries, list):
        for entry in entries:
            native = Native(NAME, entry)
            call = _parse_entry(entry, native) if isinstance(entry, dict) else None
            yield call or Unknown(STRAY, native=native)
    if isinstance(legacy, dict) and legacy.get("name"):
        native = Native(NAME, {"function_call": legacy})
        call = _call(None, legacy, "arguments", native)
        if call:
            yield call


def _parse_entry(entry: JsonObject, native: Native) -> ToolCall | None:
    call_id = entry.get("id")
    body, key = _body(entry)
    if not isinstance(call_id, str | None) or body is None:
        return None
    return _call(call_id, body, key, native)


def _body(entry: JsonObject) -> tuple[JsonObject | None, str]:
    """Return the object that names the tool, and its key for the arguments. Some servers omit ``type``."""
    kind, key = ("custom", "input") if entry.get("type") == "custom" else ("function", "arguments")
    body = entry.get(kind)
    return (body if isinstance(body, dict) else None), key


def _call(call_id: str | None, body: JsonObject, key: str, native: Native) -> ToolCall | None:
    name, arguments = body.get("name"), body.get(key, "")
    if not isinstance(name, str) or not isinstance(arguments, str | dict):
        return None
    return ToolCall(call_id or derived_id(NAME, name), name, arguments, trust=Trust.ASSISTANT, native=native)


def render_call(part: Part) -> Iterator[Json]:
    """Write one entry of ``tool_calls``; nothing for parts of other formats."""
    if not isinstance(part, ToolCall):
        if part.native is not None and same_wire(part.native, NAME):
            yield part.native.value
        return
    base = own(part.native, NAME)
    if base is None:
        inner: JsonObject = {"name": part.name, "arguments": part.input_text}
        yield overlay(None, {"id": _written_id(part), "type": "function", "function": inner})
        return
    body, key = _body(base)
    fields: JsonObject = {"custom" if key == "input" else "function": _render_body(part, body or {}, key)}
    if _written_id(part) is not None:
        fields["id"] = part.call_id
    yield overlay(base, fields)


def render_legacy(part: Part, field: JsonObject) -> Json:
    """Write the value of ``function_call``."""
    body = field["function_call"]
    if not isinstance(part, ToolCall) or not isinstance(body, dict):
        return body
    return _render_body(part, body, "arguments")


def _render_body(part: ToolCall, body: JsonObject, key: str) -> JsonObject:
    given = body.get(key)
    arguments: Json = part.arguments if type(given) is type(part.arguments) else part.input_text
    if given is None and not part.arguments:
        arguments = None
    return overlay(body, {"name": part.name, key: arguments})


def _written_id(part: ToolCall) -> str | None:
    return None if part.call_id == derived_id(NAME, part.name) else part.call_id


def parse_answer(
    item: JsonObject, native: Native, parse_content: Callable[[Json, Trust], tuple[Part, ...]]
) -> Part:
    """Read a message with the role ``tool`` or the legacy role ``function``."""
    call_id, name = text_at(item, "tool_call_id"), text_at(item, "name")
    if not call_id and not name:
        return Unknown("answer to no call", native=native)
    parts = parse_content(item.get("content"), Trust.UNTRUSTED)
    return ToolResult(call_id or derived_id(NAME, name or ""), parts, name=name, native=native)


def render_answer(
    part: ToolResult, render_content: Callable[[Sequence[Part], JsonObject | None, Json], Json]
) -> JsonObject:
    """Write a tool result as a message of its own."""
    base = own(part.native, NAME)
    content = render_content(part.parts, base, "")
    if base is None:
        return {"role": "tool", "tool_call_id": part.call_id, "content": content}
    fields: JsonObject = {"content": content}
    if part.call_id != derived_id(NAME, part.name or ""):
        fields["tool_call_id"] = part.call_id
    if part.name is not None:
        fields["name"] = part.name
    return overlay(base, fields)
