"""What stands behind a claim, a rule or a digest: the very turns, with the words that are cited marked."""

from __future__ import annotations

from clew.inspector.shelf import Book
from clew.inspector.words import marked_to_json, speaker
from clew.message import Json, JsonObject, lowest

MOST_SOURCES = 40
"""Messages that are sent; a digest may stand for thousands."""


def expanded(book: Book, ref: str) -> JsonObject:
    """Return what stands behind a reference."""
    found = book.session.expand(ref)
    messages: list[Json] = []
    for item in book.session.originals(found.ids[:MOST_SOURCES]):
        quotes = [quote for quote in found.quotes if quote.cite.message == item.id]
        messages.append(
            {
                "id": item.id,
                "role": speaker(item.message),
                "trust": lowest(part.trust for part in item.message.parts).label,
                "parts": marked_to_json(item.message, quotes),
            }
        )
    return {
        "ref": found.ref,
        "what": found.what,
        "text": found.text,
        "messages": messages,
        "more": len(found.ids) - len(messages),
    }


def explained(book: Book, ref: str) -> JsonObject:
    """Return why something is shown as it is, or why it left."""
    return {"ref": ref, "lines": list[Json](book.session.explain(ref).lines)}
