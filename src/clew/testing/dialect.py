"""How a server speaks one API: whole answers, streamed answers, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Protocol

from clew.message import Json, JsonObject
from clew.ports import Reply
from clew.wire import Wire

PIECE_CHARS = 24
"""How much of a text one streamed event carries."""


class Dialect(Protocol):
    """One API, from its server's side."""

    @property
    def wire(self) -> Wire:
        """Return the format of its requests."""

    def whole(self, reply: Reply, request: JsonObject, number: int) -> JsonObject:
        """Return the body of an answer to the request; ``number`` makes its ids."""

    def stream(self, answer: JsonObject, request: JsonObject) -> Iterator[str]:
        """Yield the same answer as server-sent events."""

    def error(self, status: int, message: str, code: str | None) -> JsonObject:
        """Return the body of an error."""

    def too_long(self, tokens: int, limit: int) -> str:
        """Return how this API words that a request is too long."""


def event(value: JsonObject, name: Json = None) -> str:
    """Write one server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n"


def pieces(text: str) -> Iterator[str]:
    """Yield a text as it is streamed."""
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]
