"""Documents that carry their text as it is: what they say, and the same document saying less.

Anthropic takes a plain text as a block of its own, and clew carries it as it came. Where there is no room for
it, a block of the same form takes its place: as plain words it would read as if a person had said them.
"""

from __future__ import annotations

from dataclasses import replace

from clew.message import JsonObject, Native, Part, Unknown


def text_of(part: Part) -> str | None:
    """Return the text of a document; None for any other part."""
    match part:
        case Unknown(
            native=Native(value={"type": "document", "source": {"type": "text", "data": str(text)}})
        ):
            return text
        case _:
            return None


def saying(part: Part, text: str) -> Part:
    """Return a document with this text in place of its own; any other part as it is."""
    block = part.native.value if part.native and text_of(part) is not None else None
    source = block.get("source") if isinstance(block, dict) else None
    if not (part.native and isinstance(block, dict) and isinstance(source, dict)):
        return part
    shorter: JsonObject = {**block, "source": {**source, "data": text}}
    return replace(part, native=Native(part.native.wire, shorter))
