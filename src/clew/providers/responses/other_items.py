"""Items of OpenAI Responses other than messages and tools: reasoning, compactions, approvals."""

from __future__ import annotations

from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Json,
    JsonObject,
    Native,
    Part,
    Thinking,
    Trust,
    Unknown,
)
from clew.providers.responses.calls import NAME
from clew.providers.wire import kind_of, only_texts, overlay, own, text_at


def parse_reasoning(item: JsonObject, native: Native) -> Part:
    """Read a reasoning item: its content if it has any, else its summary."""
    if not only_texts(item, "id", "encrypted_content"):
        return Unknown("reasoning", native=native)
    text, sealed = _reasoning_text(item), text_at(item, "encrypted_content")
    return Thinking(text, sealed, not text, item_id=text_at(item, "id"), trust=Trust.ASSISTANT, native=native)


def _reasoning_text(item: JsonObject) -> str:
    return _joined(item.get("content")) or _joined(item.get("summary"))


def _joined(entries: Json) -> str:
    entries = entries if isinstance(entries, list) else []
    return "\n\n".join(text_at(entry, "text") or "" for entry in entries if isinstance(entry, dict))


def parse_compaction(item: JsonObject, native: Native) -> Part:
    """Read a provider's compaction item."""
    if not only_texts(item, "encrypted_content"):
        return Unknown(kind_of(item), native=native)
    return Compacted(kind_of(item), encrypted=text_at(item, "encrypted_content"), native=native)


def parse_approval(item: JsonObject, native: Native) -> Part:
    """Read an approval request of a remote tool, or a person's answer."""
    match item:
        case {"approval_request_id": str(key), "approve": bool(approved)} if only_texts(item, "reason"):
            return ApprovalAnswer(key, approved, text_at(item, "reason"), trust=Trust.USER, native=native)
        case {"type": "mcp_approval_request", "id": str(key), "name": str(name)}:
            arguments = item.get("arguments", "")
            if isinstance(arguments, str | dict):
                return ApprovalRequest(key, name, arguments, trust=Trust.ASSISTANT, native=native)
    return Unknown(kind_of(item), native=native)


def render_other(part: Thinking | Compacted | ApprovalRequest | ApprovalAnswer) -> JsonObject:
    """Write such an item."""
    base = own(part.native, NAME)
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
