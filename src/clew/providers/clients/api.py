"""The protocol for one provider API as pure functions (request bodies, replies), and helpers. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Protocol

from clew.errors import ModelFailed, ModelRefused
from clew.message import JsonObject
from clew.providers import Wire
from clew.providers.clients.pieces import Gathering
from clew.providers.model import Ask, Reply

_HALF = re.compile("[\ud800-\udfff]")


class Api(Protocol):
    """One endpoint of a provider, for one model."""

    @property
    def path(self) -> str:
        """Return the path under the provider's base URL."""

    @property
    def wire(self) -> Wire:
        """Return the wire format of its requests."""

    def body(self, ask: Ask) -> JsonObject:
        """Return the request body for a question."""

    def reply(self, value: JsonObject) -> Reply:
        """Read a response body; raise a ``ModelError`` if it is not an answer."""

    def mended(self, body: JsonObject, refused: ModelRefused) -> JsonObject | None:
        """Return the body without the field that was refused, or None if the request cannot be repaired."""

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the request fields other than its contents: the model's name and the output token limit."""

    def streaming(self, body: JsonObject) -> JsonObject:
        """Return the body with streaming turned on."""

    def gathering(self) -> Gathering:
        """Return an assembler for the events of one stream."""


def without_refused(body: JsonObject, refused: ModelRefused, optional: Collection[str]) -> JsonObject | None:
    """Drop the optional fields that a refusal names; return None if it names none that is in the body."""
    named = [name for name in optional if name in body and re.search(rf"\b{name}\b", refused.detail)]
    return {key: value for key, value in body.items() if key not in named} if named else None


def sendable(body: JsonObject) -> JsonObject:
    """Return the body without lone surrogates, which UTF-8 cannot encode but real transcripts contain.

    A lone surrogate becomes the replacement character; two that form a pair become the character they encode.
    """
    try:
        text = json.dumps(body, ensure_ascii=False)
        if _HALF.search(text) is None:
            return body
        mended: JsonObject = json.loads(
            text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        )
    except RecursionError as cause:
        raise ModelRefused("the request is nested too deeply to be written") from cause
    return mended


def answer_object(text: str) -> JsonObject:
    """Parse a response body as a JSON object; raise ``ModelFailed`` for anything else, such as a web page."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise ModelFailed(f"the answer is not JSON: {text[:80]!r}") from cause
    if not isinstance(value, dict):
        raise ModelFailed(f"the answer is not an object: {text[:80]!r}")
    return value


def whole(value: object) -> int:
    """Return an integer from a response, or 0 if it is missing or not an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
