"""Calls, their outputs and content blocks of OpenAI Responses.

Every tool has its own pair of item types, which follow one pattern: ``X_call`` with a ``call_id`` and its
arguments under a key that depends on the type, and ``X_call_output`` with the same ``call_id``. Pairs of this
pattern are read even if they are not in the table. A server-side tool has one item for both; it is read as a
call and its result, which share their ``native``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.message import (
    Json,
    JsonObject,
    Media,
    Native,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
)
from clew.providers.media import read_audio, read_file, read_url, write_audio, write_file, write_url
from clew.providers.wire import (
    arguments_object,
    derived_id,
    differs,
    is_derived_id,
    kind_of,
    native_object,
    only_texts,
    overlay,
    read_content,
    text_at,
    write_content,
)

NAME = "responses"
"""The id of this wire format."""

_ARGUMENTS_KEY = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
    "tool_search_call": "arguments",
    "mcp_call": "arguments",
    "web_search_call": "action",
    "file_search_call": "queries",
    "code_interpreter_call": "code",
    "image_generation_call": "revised_prompt",
}
"""The field that holds the arguments, by type of call; ``arguments`` for types that are not listed."""

_RESULT_KEY = {
    "mcp_call": "output",
    "web_search_call": "results",
    "file_search_call": "results",
    "code_interpreter_call": "outputs",
    "image_generation_call": "result",
}
"""The types of calls of server-side tools, each with the field of the item that holds the result."""


CALL_FIELDS = frozenset(
    {"call_id", "name", "output", "logs", "stdout", "stderr"}
    | set(_ARGUMENTS_KEY.values())
    | set(_RESULT_KEY.values())
)
"""The fields of calls, outputs and their chunks that a part represents."""


# Reading ---------------------------------------------------------------------------------------------


def is_call(kind: str) -> bool:
    """Whether an item of this type is a tool call."""
    return kind.endswith("_call")


def is_output(kind: str) -> bool:
    """Whether an item of this type is a tool result."""
    return kind.endswith("_output")


def parse_call(item: JsonObject, native: Native) -> tuple[Part, ...]:
    """Read a call; a server-side one is followed by its result."""
    kind = kind_of(item)
    name, call_id = item.get("name", _tool_type(kind)), _call_id(item)
    if not isinstance(name, str) or (call_id is None and kind not in _ARGUMENTS_KEY):
        return (Unknown(kind, native=native),)
    arguments = item.get(_arguments_key(kind), "")
    if not isinstance(arguments, str | dict):  # null, or a list of queries
        arguments = {} if arguments is None else {_arguments_key(kind): arguments}
    server_side, call_id = kind in _RESULT_KEY, call_id or derived_id(NAME, _tool_type(kind))
    call = ToolCall(call_id, name, arguments, server_side, trust=Trust.ASSISTANT, native=native)
    if not server_side:
        return (call,)
    parts = _parse_result(item, kind)
    failed = bool(item.get("error")) or item.get("status") == "failed"
    return call, ToolResult(call_id, parts, failed, name, server_side=True, native=native)


def _parse_result(item: JsonObject, kind: str) -> tuple[Part, ...]:
    content = item.get(_RESULT_KEY[kind])
    if kind == "image_generation_call" and isinstance(content, str):
        return (Media("image", "image/png", content),) if content else ()
    return parse_content(content, Trust.UNTRUSTED)


def parse_output(item: JsonObject, native: Native) -> Part:
    """Read the output of a call."""
    kind = kind_of(item)
    call_id = _call_id(item) or derived_id(NAME, _tool_type(kind))
    parts = _parse_output(item.get("output"), Trust.UNTRUSTED)
    failed = kind == "apply_patch_call_output" and item.get("status") == "failed"
    return ToolResult(call_id, parts, failed, native=native)


def _tool_type(kind: str) -> str:
    """Return the ``X`` of ``X_call`` and of ``X_call_output``; a function's own name is not in its output."""
    return kind.removesuffix("_output").removesuffix("_call")


def _arguments_key(kind: str) -> str:
    return _ARGUMENTS_KEY.get(kind, "arguments")


def _call_id(item: JsonObject) -> str | None:
    # Some items (local shell outputs, server-side tools) have no call_id; their id is used instead.
    return text_at(item, "call_id") or text_at(item, "id")


# Writing ---------------------------------------------------------------------------------------------


def render_call(part: ToolCall, result: ToolResult | None) -> JsonObject:
    """Write a call as an item; for a server-side tool, with its result."""
    base = native_object(part.native, NAME)
    if base is None:
        return {
            "type": "function_call",
            "call_id": part.call_id,
            "name": part.name,
            "arguments": part.input_text,
        }
    fields = _id_fields(base, part.call_id)
    if part.name != base.get("name", _tool_type(kind_of(base))):
        fields["name"] = part.name
    fields |= _arguments_fields(part, base)
    if result is not None:
        fields |= _result_fields(result, base)
    return overlay(base, fields)


def _id_fields(base: JsonObject, call_id: str) -> JsonObject:
    if call_id == _call_id(base) or is_derived_id(NAME, call_id):
        return {}
    only_id = text_at(base, "id") and not text_at(base, "call_id")
    return {"id" if only_id else "call_id": call_id}


def _arguments_fields(part: ToolCall, base: JsonObject) -> JsonObject:
    key = _arguments_key(kind_of(base))
    match base.get(key, ""):
        case None if not part.arguments:
            return {}
        case str():
            return {key: part.input_text} if key in base or part.arguments else {}
        case dict() | None:
            return {key: arguments_object(part)}
        case _:
            return {key: arguments_object(part).get(key)}


def _result_fields(result: ToolResult, base: JsonObject) -> JsonObject:
    key = _RESULT_KEY[kind_of(base)]
    original = base.get(key)
    match result.parts:
        case [Media(data=str(data), native=None)] if key == "result":
            return {key: data}
        case _:
            content = _render_output(result.parts, original)
            return {key: content} if differs(original, content) else {}


def render_output(part: ToolResult) -> JsonObject:
    """Write a result as an item."""
    base = native_object(part.native, NAME)
    if base is None:
        output = _render_output(part.parts, None) or ""
        return {"type": "function_call_output", "call_id": part.call_id, "output": output}
    fields = _id_fields(base, part.call_id)
    if part.parts or base.get("output"):
        fields["output"] = _render_output(part.parts, base.get("output"))
    return overlay(base, fields)


# Content blocks ---------------------------------------------------------------------------------------


def parse_content(content: Json, trust: Trust) -> tuple[Part, ...]:
    """Read a ``content`` field: text, or a list of blocks."""
    return read_content(content, trust, NAME, _parse_block)


def _parse_output(output: Json, trust: Trust) -> tuple[Part, ...]:
    if isinstance(output, dict):  # a screenshot is one block, not in a list
        return (_parse_block(output, trust),)
    return parse_content(output, trust)


def _parse_block(block: Json, trust: Trust) -> Part:
    native = Native(NAME, block)
    part = _parse_known(block, trust, native) if isinstance(block, dict) else None
    return part or Unknown(kind_of(block), trust=trust, native=native)


def _parse_known(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    match block:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return Text(text, trust=trust, native=native)
        case {"type": "refusal", "refusal": str(text)}:
            return Text(text, trust=trust, native=native)
        case {"type": "input_image" | "computer_screenshot"} if only_texts(block, "image_url", "file_id"):
            source, file_id = read_url(text_at(block, "image_url")), text_at(block, "file_id")
            return Media("image", *source, file_id=file_id, trust=trust, native=native)
        case {"type": "input_file"}:
            return read_file(block, trust, native)
        case {"type": "input_audio", "input_audio": dict(sound)}:
            return read_audio(sound, trust, native)
        case _:
            return _parse_chunk(block, trust, native)


def _render_output(parts: Sequence[Part], original: Json) -> Json:
    if not isinstance(original, dict):
        return render_content(parts, original, Role.TOOL)
    match render_content(parts, None, Role.TOOL):
        case [block]:
            return block
        case content:
            return content


def render_content(parts: Sequence[Part], original: Json, role: Role) -> Json:
    """Write parts in the form they were read in: plain text, or blocks of the kind that the role has."""
    text_type = "output_text" if role is Role.ASSISTANT else "input_text"

    def blocks(parts: Sequence[Part]) -> Iterator[Json]:
        for part in parts:
            yield from _render_block(part, text_type)

    return write_content(parts, original, blocks)


def _render_block(part: Part, text_type: str) -> Iterator[Json]:
    base = native_object(part.native, NAME)
    if isinstance(part, Text):
        if base is not None and base.get("type") not in _TEXT_FIELDS:
            yield from _render_chunk(part, base)
        else:
            kind = text_at(base, "type") if base else None
            yield overlay(base, {"type": kind or text_type, _TEXT_FIELDS.get(kind or "", "text"): part.text})
    elif isinstance(part, Media):
        yield base if base and _parse_block(base, part.trust) == part else _new_media_block(part)
    elif part.native is not None and part.native.wire == NAME:
        yield part.native.value


_TEXT_FIELDS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
"""The types of text blocks, each with the field that holds the text."""


def _new_media_block(part: Media) -> JsonObject:
    if part.kind == "image":
        fields: JsonObject = {"image_url": write_url(part, "image/png"), "file_id": part.file_id}
        return overlay(None, {"type": "input_image", **fields})
    if part.kind == "audio":
        return {"type": "input_audio", "input_audio": write_audio(part)}
    return overlay(None, {"type": "input_file", **write_file(part)})


# The chunks of a shell's output ------------------------------------------------------------------------


def _parse_chunk(chunk: JsonObject, trust: Trust, native: Native) -> Part | None:
    """Read one ``{stdout, stderr, outcome}``, or one ``{type: logs, logs}`` of a code interpreter."""
    text = _chunk_text(chunk)
    return None if text is None else Text(text, trust=trust, native=native)


def _render_chunk(part: Text, base: JsonObject) -> Iterator[JsonObject]:
    """Write a text as a chunk, if it was read from one."""
    text = _chunk_text(base)
    if text is None:
        return
    fields: JsonObject = {"logs": part.text} if "logs" in base else {"stdout": part.text, "stderr": ""}
    yield base if text == part.text else overlay(base, fields)


def _chunk_text(chunk: JsonObject) -> str | None:
    if chunk.get("type") == "logs":
        return text_at(chunk, "logs")
    stdout, stderr = chunk.get("stdout"), chunk.get("stderr")
    if not isinstance(stdout, str) or not isinstance(stderr, str):
        return None
    return f"{stdout}\n{stderr}" if stdout and stderr else stdout or stderr
