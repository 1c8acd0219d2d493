"""The protocol for the server side of a provider API; OpenAI's error responses.

The proxy uses it for answers of its own, and the test server for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Protocol

from clew.message import Json, JsonObject
from clew.providers import Wire
from clew.providers.model import Reply

PIECE_CHARS = 24
"""Characters of text in one streamed event."""


class ServerSide(Protocol):
    """Writes replies as one provider's server does: for the proxy's own answers, and for the test server."""

    @property
    def wire(self) -> Wire:
        """Return the format of its requests."""

    def response(self, reply: Reply, request: JsonObject, number: int) -> JsonObject:
        """Return the body of an answer to the request; its ids are made from ``number``."""

    def stream(self, answer: JsonObject, request: JsonObject) -> Iterator[str]:
        """Yield the same answer as server-sent events."""

    def error(self, status: int, message: str, code: str | None) -> JsonObject:
        """Return the body of an error."""

    def too_long(self, tokens: int, limit: int) -> str:
        """Return this API's message for a request that is too long."""


def event(value: JsonObject, name: Json = None) -> str:
    """Return one server-sent event as text."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n"


def pieces(text: str) -> Iterator[str]:
    """Split a text into the pieces of streamed events."""
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]


_ERRORS = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}


class OpenaiErrorBodies:
    """Error responses of OpenAI's two APIs."""

    def error(self, status: int, message: str, code: str | None) -> JsonObject:
        """Return the body of an error with OpenAI's type and code for the status."""
        usual = "invalid_request_error" if status < 500 else "server_error"
        kind, known = _ERRORS.get(status, (usual, None))
        return {"error": {"message": message, "type": kind, "param": None, "code": code or known}}

    def too_long(self, tokens: int, limit: int) -> str:
        """Return OpenAI's message for a request that is too long."""
        return (
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
            f"{tokens} tokens. Please reduce the length of the messages."
        )
