"""OpenAI Responses: read and write the items of ``input`` and the ``instructions`` field.

Each item is read as one message: a reasoning item, a call and its output are separate entries.
``{"type": "function_call_output", "call_id": "c1", "output": "ok"}`` is a message with one ``ToolResult``. A
message from another format with several of these is written as several items, in order.

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
    Origin,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
)
from clew.providers.openai_responses.calls import (
    CALL_FIELDS,
    NAME,
    is_call,
    is_output,
    parse_call,
    parse_content,
    parse_output,
    render_call,
    render_content,
    render_output,
)
from clew.providers.wire import (
    Wire,
    differs,
    kind_of,
    native_object,
    only_texts,
    origin_and_trust,
    original_system,
    overlay,
    same_wire,
    text_at,
)

ROLES = frozenset({"user", "assistant", "system", "developer"})
"""The roles that the API knows."""

UNDERSTOOD = frozenset(
    {"role", "content", "type", "text", "refusal", "input_audio", "image_url", "file_id"}
    | {"filename", "file_data", "file_url", "summary", "encrypted_content"}
    | {"approval_request_id", "approve", "reason"}
    | CALL_FIELDS
)
"""The fields that a message and its parts represent; a conversion reports others as lost."""


# Reading ---------------------------------------------------------------------------------------------


def parse_item(item: Json) -> Message:
    """Read one item. Content of unknown shape becomes an ``Unknown`` part."""
    native = Native(NAME, item)
    if isinstance(item, str):  # the whole input may be plain text
        return Message(Role.USER, (Text(item, trust=Trust.USER),), native=native)
    if not isinstance(item, dict):
        return Message(Role.USER, (Unknown("not-an-object", native=native),), native=native)
    if _is_message(item):
        role = _role(item)
        origin, trust = origin_and_trust(item, ROLES, role)
        return Message(role, parse_content(item.get("content"), trust), origin, native)
    return _parse_other(item, native)


def parse_system(value: Json) -> Message:
    """Read the ``instructions`` field."""
    return Message(Role.SYSTEM, parse_content(value, Trust.SYSTEM), native=Native(NAME, value))


def _is_message(item: JsonObject) -> bool:
    return item.get("type", "message") == "message" and ("role" in item or "content" in item)


def _role(item: JsonObject, otherwise: Role = Role.USER) -> Role:
    role = item.get("role")
    return Role(role) if isinstance(role, str) and role in ROLES else otherwise


def _parse_other(item: JsonObject, native: Native) -> Message:
    """Read an item that is not a message: a call, an output, reasoning, a compaction, an approval."""
    kind = kind_of(item)
    if is_call(kind):
        return Message(Role.ASSISTANT, parse_call(item, native), native=native)
    if is_output(kind):
        return Message(Role.TOOL, (parse_output(item, native),), native=native)
    if kind == "reasoning":
        return Message(Role.ASSISTANT, (_parse_reasoning(item, native),), native=native)
    if kind in ("compaction", "compaction_summary", "context_compaction"):
        return Message(Role.ASSISTANT, (_parse_compaction(item, native),), Origin.SUMMARY, native)
    if kind == "mcp_approval_request":
        return Message(Role.ASSISTANT, (_parse_approval(item, native),), native=native)
    if kind == "mcp_approval_response":
        # Not a new user turn: like a tool result, it is part of the running turn.
        return Message(Role.TOOL, (_parse_approval(item, native),), native=native)
    role = _role(item, Role.ASSISTANT)
    return Message(role, (Unknown(kind, native=native),), native=native)


def _parse_reasoning(item: JsonObject, native: Native) -> Part:
    """Read a reasoning item: its content if it has any, else its summary."""
    if not only_texts(item, "id", "encrypted_content"):
        return Unknown("reasoning", native=native)
    text, encrypted = _reasoning_text(item), text_at(item, "encrypted_content")
    item_id = text_at(item, "id")
    return Thinking(text, encrypted, not text, item_id=item_id, trust=Trust.ASSISTANT, native=native)


def _reasoning_text(item: JsonObject) -> str:
    return _join_texts(item.get("content")) or _join_texts(item.get("summary"))


def _join_texts(entries: Json) -> str:
    entries = entries if isinstance(entries, list) else []
    return "\n\n".join(text_at(entry, "text") or "" for entry in entries if isinstance(entry, dict))


def _parse_compaction(item: JsonObject, native: Native) -> Part:
    """Read a provider's compaction item."""
    if not only_texts(item, "encrypted_content"):
        return Unknown(kind_of(item), native=native)
    return Compacted(kind_of(item), encrypted=text_at(item, "encrypted_content"), native=native)


def _parse_approval(item: JsonObject, native: Native) -> Part:
    """Read an approval request of a remote tool, or a person's answer."""
    match item:
        case {"approval_request_id": str(key), "approve": bool(approved)} if only_texts(item, "reason"):
            return ApprovalAnswer(key, approved, text_at(item, "reason"), trust=Trust.USER, native=native)
        case {"type": "mcp_approval_request", "id": str(key), "name": str(name)}:
            arguments = item.get("arguments", "")
            if isinstance(arguments, str | dict):
                return ApprovalRequest(key, name, arguments, trust=Trust.ASSISTANT, native=native)
    return Unknown(kind_of(item), native=native)


# Writing ---------------------------------------------------------------------------------------------


def render_items(message: Message) -> list[Json]:
    """Write one message as its items, in order."""
    native = message.native
    if native and native.wire == NAME and not isinstance(native.value, dict | str):
        return [native.value]  # was not an object, so no part of it can have changed
    return list(_items(message))


def _items(message: Message) -> Iterator[Json]:
    """Yield a message item for each run of content parts, and an item for every other part.

    The first message item is written over the one that the message was read from, if it was read from one.
    """
    base = native_object(message.native, NAME)
    message_item = base if base and _is_message(base) else None
    original_pending = message_item is not None
    content: list[Part] = []
    for part in message.parts:
        if _is_content(part, message_item):
            content.append(part)
            continue
        if content:
            yield _render_message(message, content, message_item if original_pending else None)
            content, original_pending = [], False
        yield from _render_part(part, message)
    if content or original_pending:
        yield _render_message(message, content, message_item if original_pending else None)


def _is_content(part: Part, message_item: JsonObject | None) -> bool:
    """Whether a part belongs in a message item; other parts are items themselves."""
    return isinstance(part, Text | Media) or (isinstance(part, Unknown) and message_item is not None)


def _render_message(message: Message, parts: Sequence[Part], base: JsonObject | None) -> Json:
    role = Role.USER if message.role is Role.TOOL else message.role
    if same_wire(message.native, NAME) and message.native and message.native.value == message.text:
        return message.native.value  # the plain text of a whole input
    fields: JsonObject = {"content": render_content(parts, base.get("content") if base else None, role)}
    if base is None:
        return {"role": role.value, **fields}
    if _role(base) is not role:
        fields["role"] = role.value
    return overlay(base, fields)


def _render_part(part: Part, message: Message) -> Iterator[Json]:
    """Write a part that is an item of its own."""
    match part:
        case ToolCall():
            shared = (r for r in message.results if r.server_side and r.native is part.native)
            yield render_call(part, next(shared, None) if part.server_side else None)
        case ToolResult(server_side=True) if any(c.native is part.native for c in message.calls):
            pass  # written with its call, in one item
        case ToolResult(server_side=True, native=Native() as native) if native.wire == NAME:
            yield native.value  # its call was removed, but the item holds both
        case ToolResult():
            yield render_output(part)
        case Thinking() | Compacted() | ApprovalRequest() | ApprovalAnswer():
            yield _render_other(part)
        case _:
            if part.native is not None and part.native.wire == NAME:
                yield part.native.value


def _render_other(part: Thinking | Compacted | ApprovalRequest | ApprovalAnswer) -> JsonObject:
    """Write an item that is neither a message nor a call or its output."""
    base = native_object(part.native, NAME)
    match part:
        case Thinking():
            return overlay(base, _reasoning_fields(part, base))
        case Compacted():
            return overlay(base, {"type": part.kind, "encrypted_content": part.encrypted})
        case ApprovalRequest():
            fields: JsonObject = {"type": "mcp_approval_request", "id": part.approval_id, "name": part.name}
            written = base is None or "arguments" in base or part.arguments
            return overlay(base, {**fields, "arguments": part.arguments} if written else fields)
        case ApprovalAnswer():
            return overlay(
                base,
                {
                    "type": "mcp_approval_response",
                    "approval_request_id": part.approval_id,
                    "approve": part.approved,
                    "reason": part.reason,
                },
            )


def _reasoning_fields(part: Thinking, base: JsonObject | None) -> JsonObject:
    fields: JsonObject = {"type": "reasoning", "id": part.item_id, "encrypted_content": part.signature}
    if base is None or _reasoning_text(base) != part.text:
        fields["summary"] = [{"type": "summary_text", "text": part.text}] if part.text else []
        fields["content"] = None
    return fields


def render_system(messages: Sequence[Message]) -> Json:
    """Write the ``instructions`` field as one text; a single unchanged message is written as it was read."""
    original = original_system(messages, NAME)
    parts = [part for message in messages for part in message.parts]
    content = render_content(parts, original, Role.SYSTEM)
    if not differs(original, content):
        return original
    return "\n\n".join(part.text for part in parts if isinstance(part, Text))


RESPONSES = Wire(
    name=NAME,
    title="OpenAI Responses",
    list_key="input",
    system_key="instructions",
    parse_item=parse_item,
    render_items=render_items,
    parse_system=parse_system,
    render_system=render_system,
    rules_module="clew.providers.openai_responses.rules",
    roles=ROLES,
    understood=UNDERSTOOD,
    takes_plain_text=True,
)
