"""Messages as JSON for the pages: text only, long parts cut, each part with its trust label."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import assert_never

from clew.log.protocol import StoredEvent
from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Json,
    JsonObject,
    Media,
    Message,
    Origin,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    words,
)
from clew.message.text import one_line
from clew.session import Quote

SHOWN = 4_000
"""Most characters of a part that are sent at first; the rest is sent on request."""
LEADING_TAGS = re.compile(r"^(?:\s*<[\w-]+>)+")
"""Tags that a harness puts around a task; they are not part of its title."""
AROUND = 700
"""Characters shown on both sides of a quote."""


def speaker(message: Message) -> str:
    """Return the author of a message: its role, or its origin if it was injected or summarised."""
    return message.role.value if message.origin is Origin.SPOKEN else message.origin.value


def message_view(message: Message, *, whole: bool = False) -> JsonObject:
    """Return a message as JSON; long parts are cut unless ``whole``."""
    return {
        "role": speaker(message),
        "trust": message.trust.label,
        "parts": [part_to_json(part, whole=whole) for part in message.parts],
    }


def part_to_json(part: Part, *, whole: bool = False) -> JsonObject:
    """Return a part as JSON: its kind, a heading if it is collapsed, and its text."""
    kind, heading = _kind(part)
    text = _text(part)
    shown = text if whole else text[:SHOWN]
    return {
        "kind": kind,
        "heading": heading,
        "trust": part.trust.label,
        "text": shown,
        "left": len(text) - len(shown),
        "failed": isinstance(part, ToolResult) and part.is_error,
    }


def _kind(part: Part) -> tuple[str, str]:
    """Return the kind of a part and its heading; plain text has none."""
    match part:
        case Text():
            return "text", ""
        case Thinking():
            return "thinking", "thinking" if part.text else "thinking, hidden by its provider"
        case ToolCall():
            return "call", part.name
        case ToolResult():
            return "result", part.name or ""
        case Media():
            return "media", " ".join(filter(None, (part.kind, part.media_type, part.title)))
        case Compacted():
            return "compacted", part.kind
        case ApprovalRequest():
            return "asked", part.name
        case ApprovalAnswer():
            return "answered", "allowed" if part.approved else "refused"
        case Unknown():
            return "unknown", part.kind
        case _:
            assert_never(part)


def _text(part: Part) -> str:
    """Return the text of a part; the arguments of a call one per line."""
    match part:
        case ToolCall() if part.input:
            return "\n".join(f"{name}: {_plain_value(value)}" for name, value in part.input.items())
        case Compacted():
            return part.text or ""
        case ApprovalAnswer():
            return part.reason or ""
        case Media():
            return part.url or part.file_id or ""
        case _:
            return words(part)


def _plain_value(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def excerpt(text: str, width: int = 160) -> str:
    """Return the start of a text on one line."""
    return one_line(text, width)


def first_words(message: Message, width: int = 160) -> str:
    """Return the start of a message as one line: its text, else its first call or result."""
    if message.text.strip():
        return excerpt(message.text, width)
    for part in message.parts:
        heading = _kind(part)[1]
        if heading or _text(part).strip():
            return excerpt(f"{heading} {_text(part)}".strip(), width)
    return ""


# Quotes marked ---------------------------------------------------------------------------------------


def marked_to_json(message: Message, quotes: Iterable[Quote]) -> list[Json]:
    """Return the parts of a message as pieces of text, with the quoted pieces marked.

    ``[["use port ", False], ["8123", True]]``: Python and browsers count characters differently, so the text
    is sent in pieces, not with offsets.
    """
    cites = [(quote.cite, len(quote.words)) for quote in quotes]
    parts: list[Json] = []
    for number, part in enumerate(message.parts):
        spans = sorted(
            (cite.start, cite.start + size) for cite, size in cites if cite.part == number and size
        )
        kind, heading = _kind(part)
        pieces = _pieces(words(part) if spans else _text(part), spans)
        parts.append({"kind": kind, "heading": heading, "trust": part.trust.label, "pieces": pieces})
    return parts


def _pieces(text: str, spans: list[tuple[int, int]]) -> list[Json]:
    """Split a text at its quotes; keep only the text near them."""
    if not spans:
        return _plain(text[:AROUND], cut_end=len(text) > AROUND)
    pieces: list[Json] = []
    done = 0
    for start, end in spans:
        if end > done:
            begin = max(start, done)
            pieces += [*_context_pieces(text[done:begin], first=done == 0), [text[begin:end], True]]
            done = end
    return [*pieces, *_plain(text[done : done + AROUND], cut_end=len(text) > done + AROUND)]


def _context_pieces(text: str, *, first: bool) -> list[Json]:
    if first and len(text) > AROUND:
        return [["… ", False], [text[-AROUND:], False]]
    if len(text) > 2 * AROUND:
        return [[text[:AROUND], False], [" … ", False], [text[-AROUND:], False]]
    return [[text, False]] if text else []


def _plain(text: str, *, cut_end: bool) -> list[Json]:
    kept: list[Json] = [[text, False]] if text else []
    return [*kept, [" …", False]] if cut_end else kept


def said_at(stored: StoredEvent) -> str:
    """Return the time of a message; for an imported one, the time in its source."""
    source = stored.event.body.get("source")
    recorded = source.get("time") if isinstance(source, dict) else None
    return recorded if isinstance(recorded, str) else stored.event.time
