"""OpenAI Chat Completions: read and write the entries of ``messages``.

``{"role": "tool", "tool_call_id": "c1", "content": "ok"}`` is read as a message with one ``ToolResult``.

A reply has several fields: reasoning (of compatible servers), content, refusal, audio, tool calls. A part
that was read from such a field, not from a block, has an object with only that field as its ``native``, such
as ``{"refusal": "No."}``, so that it can be written back to the same field. The legacy ``function_call`` and
the calls of some compatible servers have no id: such a call and its result get an id made from the tool's
name, which is never written.

Writing lays the fields of a part over its ``native`` object (``overlay``): an unchanged part is written as
that very object.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

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
from clew.providers.media import read_audio, read_file, read_url, write_audio, write_file, write_url
from clew.providers.shapes import object_or_none
from clew.providers.wire import (
    Wire,
    derived_id,
    differs,
    is_derived_id,
    kind_of,
    native_object,
    only_texts,
    origin_and_trust,
    overlay,
    read_content,
    same_wire,
    text_at,
    write_content,
    write_system,
)

NAME = "openai"

STRAY = "entry of tool_calls"
"""The kind of an ``Unknown`` part that was read from the list of calls."""


ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

UNDERSTOOD = frozenset(
    {"role", "content", "type", "text", "refusal", "audio", "image_url", "input_audio", "file", "thinking"}
    | {"tool_calls", "function_call", "tool_call_id", "id", "name", "function", "custom"}
    | {"reasoning", "reasoning_content", "reasoning_details"}
)

_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
_PLAIN_FIELDS = frozenset({"role", "content", "tool_calls"})
"""The fields of most entries."""


# Reading ---------------------------------------------------------------------------------------------


def parse_item(item: Json) -> Message:
    """Read one message. Content of unknown shape becomes an ``Unknown`` part."""
    native = Native(NAME, item)
    if not isinstance(item, dict):
        return Message(Role.USER, (Unknown("not-an-object", native=native),), native=native)
    role = _role(item.get("role"))
    if role is Role.TOOL:
        return Message(role, (_parse_answer(item, native),), native=native)
    if role is Role.ASSISTANT:
        if item.keys() <= _PLAIN_FIELDS:
            parts = (*_parse_content(item.get("content"), Trust.ASSISTANT), *_parse_calls(item))
        else:
            parts = tuple(_parse_reply(item))
        return Message(role, parts, native=native)
    origin, trust = origin_and_trust(item, ROLES, role)
    return Message(role, _parse_content(item.get("content"), trust), origin, native)


def parse_system(value: Json) -> Message:
    """Read a separate system prompt; in a request it is a message of the list."""
    return Message(Role.SYSTEM, _parse_content(value, Trust.SYSTEM), native=Native(NAME, value))


_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def _role(value: Json) -> Role:
    return _ROLES.get(value, Role.USER) if isinstance(value, str) else Role.USER


def _parse_reply(item: JsonObject) -> Iterator[Part]:
    """Yield the parts of an assistant message, field by field."""
    trust = Trust.ASSISTANT
    reasoning = _reasoning_fields(item)
    if reasoning:
        yield _parse_reasoning(reasoning)
    yield from _parse_content(item.get("content"), trust)
    refusal, audio = item.get("refusal"), item.get("audio")
    if isinstance(refusal, str) and refusal:
        yield Text(refusal, trust=trust, native=Native(NAME, {"refusal": refusal}))
    if isinstance(audio, dict) and (audio.get("id") or audio.get("data")) and only_texts(audio, "id", "data"):
        native = Native(NAME, {"audio": audio})
        data, file_id = text_at(audio, "data"), text_at(audio, "id")
        yield Media("audio", data=data, file_id=file_id, trust=trust, native=native)
    yield from _parse_calls(item)


def _reasoning_fields(item: JsonObject) -> JsonObject:
    """Return the non-empty fields in which servers send a reply's reasoning."""
    return {key: item[key] for key in _REASONING if isinstance(item.get(key), str | list) and item[key]}


def _parse_reasoning(fields: JsonObject) -> Thinking:
    """Read the fields in which compatible servers send reasoning; the text and a signature, if any."""
    original = fields.get("reasoning_details")
    details = [entry for entry in original if isinstance(entry, dict)] if isinstance(original, list) else []
    texts = (text_at(entry, "text") or text_at(entry, "summary") or "" for entry in details)
    text = text_at(fields, "reasoning_content") or text_at(fields, "reasoning") or "".join(texts)
    sealed = (text_at(entry, "signature") or text_at(entry, "data") for entry in details)
    signature = next(filter(None, sealed), None)
    redacted = bool(signature) and not text
    return Thinking(text, signature, redacted, trust=Trust.ASSISTANT, native=Native(NAME, fields))


def _parse_answer(item: JsonObject, native: Native) -> Part:
    """Read a message with the role ``tool`` or the legacy role ``function``."""
    call_id, name = text_at(item, "tool_call_id"), text_at(item, "name")
    if not call_id and not name:
        return Unknown("answer to no call", native=native)
    parts = _parse_content(item.get("content"), Trust.UNTRUSTED)
    return ToolResult(call_id or derived_id(NAME, name or ""), parts, name=name, native=native)


def _parse_calls(item: JsonObject) -> Iterator[Part]:
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
    """Return the object that names the tool, and its key for the arguments. Some servers omit ``type``.

    ``{"id": "c1", "function": {"name": "ls", "arguments": "{}"}}`` gives the inner object and ``arguments``.
    """
    kind, key = ("custom", "input") if entry.get("type") == "custom" else ("function", "arguments")
    body = entry.get(kind)
    return (body if isinstance(body, dict) else None), key


def _call(call_id: str | None, body: JsonObject, key: str, native: Native) -> ToolCall | None:
    name, arguments = body.get("name"), body.get(key, "")
    if not isinstance(name, str) or not isinstance(arguments, str | dict):
        return None
    return ToolCall(call_id or derived_id(NAME, name), name, arguments, trust=Trust.ASSISTANT, native=native)


def _parse_content(content: Json, trust: Trust) -> tuple[Part, ...]:
    """Read a ``content`` field: text, or a list of parts."""
    return read_content(content, trust, NAME, _parse_block)


def _parse_block(block: Json, trust: Trust) -> Part:
    native = Native(NAME, block)
    part = _parse_known(block, trust, native) if isinstance(block, dict) else None
    return part or Unknown(kind_of(block), trust=trust, native=native)


def _parse_known(block: JsonObject, trust: Trust, native: Native) -> Part | None:
    """Read a block of a known type; None for any other."""
    kind = block.get("type")
    value = block.get(kind) if isinstance(kind, str) else None
    match kind:
        case "text" | "refusal" if isinstance(value, str):
            return Text(value, trust=trust, native=native)
        case "image_url" if isinstance(value, str):
            return _image(value, trust, native)
        case "image_url" if isinstance(value, dict) and isinstance(value.get("url"), str):
            return _image(text_at(value, "url"), trust, native)
        case "input_audio" if isinstance(value, dict):
            return read_audio(value, trust, native)
        case "file" if isinstance(value, dict):
            return read_file(value, trust, native)
        case "thinking" if isinstance(value, list):
            texts = (text_at(entry, "text") or "" for entry in value if isinstance(entry, dict))
            return Thinking("".join(texts), trust=trust, native=native)
        case _:
            return None


def _image(url: str | None, trust: Trust, native: Native) -> Media:
    source = read_url(url)
    return Media("image", source.media_type, source.data, source.url, trust=trust, native=native)


# Writing ---------------------------------------------------------------------------------------------


def render_items(message: Message) -> list[Json]:
    """Write one message as one entry, or one for each tool result and one for the rest."""
    native = message.native
    if native and native.wire == NAME and _is_as_read(message, native.value):
        return [native.value]
    items: list[Json] = [_render_answer(part) for part in message.results]
    rest = [part for part in message.parts if not isinstance(part, ToolResult)]
    match rest:
        case [Unknown(native=Native() as whole_native)] if native and whole_native.value is native.value:
            items.append(whole_native.value)
        case [] if items or message.role is Role.TOOL:
            pass  # there were only results
        case _:
            items.append(_render_message(message, rest))
    return items


def _is_as_read(message: Message, entry: Json) -> bool:
    """Return True if the same objects show that a message still says what its entry says; most do.

    False means nothing: writing the message field by field finds out.
    """
    if not isinstance(entry, dict):
        return True  # no part of it can have changed
    parts, calls = message.parts, entry.get("tool_calls")
    if len(parts) == 1 and isinstance(result := parts[0], ToolResult):
        same = result.native is message.native and result.call_id is entry.get("tool_call_id")
        return same and result.name is entry.get("name") and _holds_text(entry, result.parts)
    if not entry.keys() <= _PLAIN_FIELDS or _role(entry.get("role")) is not message.role:
        return False
    if calls is None:
        return _holds_text(entry, parts)
    if not isinstance(calls, list) or len(calls) > len(parts):
        return False
    texts = len(parts) - len(calls)
    return _holds_text(entry, parts[:texts]) and all(map(_is_call_as_read, parts[texts:], calls))


def _holds_text(entry: JsonObject, parts: Sequence[Part]) -> bool:
    """Return True if the content of an entry is the text of these parts, or nothing if there are none."""
    content = entry.get("content")
    if not parts:
        return not content
    part = parts[0]
    return len(parts) == 1 and isinstance(part, Text) and part.native is None and part.text is content


def _is_call_as_read(part: Part, entry: Json) -> bool:
    if not isinstance(part, ToolCall) or not isinstance(entry, dict) or entry.get("type") == "custom":
        return False
    body, native = entry.get("function"), part.native
    if not isinstance(body, dict) or native is None or native.value is not entry:
        return False
    same_call = part.name is body.get("name") and part.arguments is body.get("arguments")
    return same_call and part.call_id is entry.get("id")


def _render_message(message: Message, parts: Sequence[Part]) -> JsonObject:
    base = native_object(message.native, NAME)
    role = Role.USER if message.role is Role.TOOL else message.role
    fields: JsonObject = {}
    if base is None or _role(base.get("role")) is not role:
        fields["role"] = role.value
    if role is Role.ASSISTANT:
        return overlay(base, fields | _reply_fields(parts, base))
    return overlay(base, fields | {"content": _render_content(parts, base, "")})


def render_system(messages: Sequence[Message]) -> Json:
    """Write a separate system prompt; a single unchanged message is written as it was read."""
    return write_system(messages, NAME, _blocks)


def _reply_fields(parts: Sequence[Part], base: JsonObject | None) -> JsonObject:
    """Write the parts of a reply, each to the field that it belongs to."""
    by_field: defaultdict[str, list[Part]] = defaultdict(list)
    for part in parts:
        by_field[_field_of(part)].append(part)
    # Content may be null only if there are calls.
    nothing = None if by_field["tool_calls"] or by_field["function_call"] else ""
    fields: JsonObject = {"content": _render_content(by_field["content"], base, nothing)}
    base = base or {}
    fields |= _render_reasoning(by_field["reasoning"], base)
    for name in ("refusal", "audio", "tool_calls", "function_call"):
        if by_field[name]:
            fields[name] = _render_field(name, by_field[name])
        elif base.get(name) and any(_field_of(part) == name for part in _parse_reply(base)):
            fields[name] = None  # what it held was removed
    return fields


def _field_of(part: Part) -> str:
    """Return the field of a reply that a part belongs to."""
    field = native_object(part.native, NAME) or {}
    match part:
        case ToolCall():
            return "function_call" if "function_call" in field else "tool_calls"
        case Unknown(kind=kind) if kind == STRAY:
            return "tool_calls"
        case Thinking() if "type" not in field:
            return "reasoning"
        case Text() if "refusal" in field and "type" not in field:
            return "refusal"
        case Media() if "audio" in field and "type" not in field:
            return "audio"
        case _:
            return "content"


def _render_reasoning(parts: Sequence[Part], base: JsonObject) -> JsonObject:
    data: JsonObject = dict.fromkeys(_reasoning_fields(base))
    thoughts = [
        part
        for part in parts
        if isinstance(part, Thinking) and (part.text or native_object(part.native, NAME))
    ]
    if not thoughts:
        return data
    fields = native_object(thoughts[0].native, NAME)
    if len(thoughts) == 1 and fields:
        original = _parse_reasoning(fields)
        if (original.text, original.signature) == (thoughts[0].text, thoughts[0].signature):
            return data | fields
    # Edited reasoning must not keep the signature of the original text.
    key = next((key for key in _REASONING[:2] if key in (fields or data)), _REASONING[0])
    return data | {key: "\n".join(part.text for part in thoughts)}


def _render_field(name: str, parts: Sequence[Part]) -> Json:
    if name == "tool_calls":
        return [entry for part in parts for entry in _render_call(part)]
    first = parts[0]
    field = native_object(first.native, NAME) or {}
    match first:
        case Text(text=text):
            return text
        case Media(data=data, file_id=file_id):
            audio = field["audio"]
            return overlay(object_or_none(audio), {"id": file_id, "data": data})
        case _:
            return _render_legacy(first, field)


def _render_call(part: Part) -> Iterator[Json]:
    """Write one entry of ``tool_calls``; nothing for parts of other formats."""
    if not isinstance(part, ToolCall):
        if part.native is not None and same_wire(part.native, NAME):
            yield part.native.value
        return
    base = native_object(part.native, NAME)
    if base is None:
        inner: JsonObject = {"name": part.name, "arguments": part.input_text}
        yield overlay(None, {"id": _written_id(part), "type": "function", "function": inner})
        return
    body, key = _body(base)
    fields: JsonObject = {"custom" if key == "input" else "function": _render_body(part, body or {}, key)}
    if _written_id(part) is not None:
        fields["id"] = part.call_id
    yield overlay(base, fields)


def _render_legacy(part: Part, field: JsonObject) -> Json:
    """Write the value of ``function_call``."""
    body = field["function_call"]
    if not isinstance(part, ToolCall) or not isinstance(body, dict):
        return body
    return _render_body(part, body, "arguments")


def _render_body(part: ToolCall, body: JsonObject, key: str) -> JsonObject:
    original = body.get(key)
    arguments: Json = part.arguments if type(original) is type(part.arguments) else part.input_text
    if original is None and not part.arguments:
        arguments = None
    return overlay(body, {"name": part.name, key: arguments})


def _written_id(part: ToolCall) -> str | None:
    return None if is_derived_id(NAME, part.call_id) else part.call_id


def _render_answer(part: ToolResult) -> JsonObject:
    """Write a tool result as a message of its own."""
    base = native_object(part.native, NAME)
    content = _render_content(part.parts, base, "")
    if base is None:
        return {"role": "tool", "tool_call_id": part.call_id, "content": content}
    fields: JsonObject = {"content": content}
    if not is_derived_id(NAME, part.call_id):
        fields["tool_call_id"] = part.call_id
    if part.name is not None:
        fields["name"] = part.name
    return overlay(base, fields)


def _render_content(parts: Sequence[Part], base: JsonObject | None, nothing: Json) -> Json:
    """Write the content of a message in the form it was read in; emptied content becomes ``nothing``."""
    original = base.get("content") if base is not None else None
    content = write_content(parts, original, _blocks)
    return content if content or (base is not None and not differs(original, content)) else nothing


def _blocks(parts: Sequence[Part]) -> Iterator[Json]:
    for part in parts:
        base = native_object(part.native, NAME)
        if isinstance(part, Text):
            field = "refusal" if base and base.get("type") == "refusal" else "text"
            yield overlay(base, {"type": field, field: part.text})
        elif isinstance(part, Media | Thinking):
            yield base if base and _parse_block(base, part.trust) == part else _fresh_block(part, base)
        elif part.native is not None and part.native.wire == NAME:
            yield part.native.value


def _fresh_block(part: Media | Thinking, base: JsonObject | None) -> JsonObject:
    if isinstance(part, Thinking):
        return overlay(base, {"type": "thinking", "thinking": [{"type": "text", "text": part.text}]})
    if part.kind == "image":
        original = base.get("image_url") if base else None
        url: JsonObject = {"url": write_url(part, "image/png")}
        return overlay(base, {"type": "image_url", "image_url": overlay(object_or_none(original), url)})
    if part.kind == "audio":
        return overlay(base, {"type": "input_audio", "input_audio": write_audio(part)})
    return overlay(base, {"type": "file", "file": overlay(None, write_file(part))})


OPENAI = Wire(
    name=NAME,
    title="OpenAI Chat Completions",
    list_key="messages",
    system_key=None,
    parse_item=parse_item,
    render_items=render_items,
    parse_system=parse_system,
    render_system=render_system,
    rules_module="clew.providers.openai_chat.rules",
    roles=ROLES,
    understood=UNDERSTOOD,
)
