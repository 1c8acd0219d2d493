"""Document parts that contain their text: read it, and replace it by a shorter text in the same form.

Anthropic accepts plain text as a document block. An excerpt keeps that form, because as plain text it would
read as a person's words.
"""

from __future__ import annotations

from dataclasses import replace

from clew.message import JsonObject, Native, Part, Unknown


def text_of(part: Part) -> str | None:
    """Return the text of a document part; None for any other part."""
    match part:
        case Unknown(
            native=Native(value={"type": "document", "source": {"type": "text", "data": str(text)}})
        ):
            return text
        case _:
            return None


def saying(part: Part, text: str) -> Part:
    """Return a document part with this text instead of its own; any other part unchanged."""
    block = part.native.value if part.native and text_of(part) is not None else None
    source = block.get("source") if isinstance(block, dict) else None
    if not (part.native and isinstance(block, dict) and isinstance(source, dict)):
        return part
    shorter: JsonObject = {**block, "source": {**source, "data": text}}
    return replace(part, native=Native(part.native.wire, shorter))
