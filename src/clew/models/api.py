"""An API as pure functions: what to send for a question, and what an answer says. Nothing here does I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Protocol

from clew.errors import ModelFailed, ModelRefused
from clew.message import JsonObject
from clew.models.pieces import Gathering
from clew.ports import Ask, Reply
from clew.wire import Wire

_HALF = re.compile("[\ud800-\udfff]")


class Api(Protocol):
    """One endpoint of a provider's, for one model."""

    @property
    def path(self) -> str:
        """Return the address under the provider's base URL."""

    @property
    def wire(self) -> Wire:
        """Return the format of its requests."""

    def body(self, ask: Ask) -> JsonObject:
        """Return the request body for a question."""

    def reply(self, value: JsonObject) -> Reply:
        """Read the response body; one that is no answer is a ``ModelError``."""

    def mended(self, body: JsonObject, refused: ModelRefused) -> JsonObject | None:
        """Return the body without what was refused, or None where that cannot be helped."""

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return what a request holds besides its contents: the model's name, how long the answer may be."""

    def streaming(self, body: JsonObject) -> JsonObject:
        """Return the body that asks for the same answer as a stream."""

    def gathering(self) -> Gathering:
        """Return what puts the events of one stream together."""


def without_refused(body: JsonObject, refused: ModelRefused, optional: Collection[str]) -> JsonObject | None:
    """Drop the optional field that a refusal names; None where it names none that is there."""
    named = [name for name in optional if name in body and re.search(rf"\b{name}\b", refused.detail)]
    return {key: value for key, value in body.items() if key not in named} if named else None


def sendable(body: JsonObject) -> JsonObject:
    """Return a body that can be written as UTF-8, which has no place for half of a surrogate pair.

    Real transcripts hold such halves. Each becomes the replacement character; two that stand together become
    what they mean.
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
    """Read a response body as an object; a proxy's web page is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise ModelFailed(f"the answer is not JSON: {text[:80]!r}") from cause
    if not isinstance(value, dict):
        raise ModelFailed(f"the answer is not an object: {text[:80]!r}")
    return value


def whole(value: object) -> int:
    """Return a count that a provider gave, or 0 where it gave none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
