"""Streamed answers of OpenAI's two APIs, put together."""

from __future__ import annotations

from collections.abc import Iterator

from clew.errors import ModelFailed
from clew.message import Json, JsonObject
from clew.models.api import whole
from clew.models.failures import told_failure
from clew.models.pieces import Piece
from clew.wire.shapes import as_object, as_text, objects

_THINKING = ("reasoning_content", "reasoning")
"""What servers call the field in which a model's reasoning is streamed."""


class ChatGathering:
    """From the first chunk to the one that says why it ended, and the usage behind it."""

    def __init__(self) -> None:
        self._message: JsonObject = {"role": "assistant", "content": None}
        self._calls: dict[int, JsonObject] = {}
        self._reason: Json = None
        self._usage: Json = None

    def take(self, event: JsonObject) -> Iterator[Piece]:
        """Take in a chunk; deltas of words and of reasoning can be shown."""
        self._usage = event.get("usage") or self._usage
        choice = next((one for _, one in objects(event.get("choices"))), None)
        if choice is None:
            return
        self._reason = choice.get("finish_reason") or self._reason
        delta = as_object(choice.get("delta"))
        for key in (*_THINKING, "content", "refusal"):
            more = as_text(delta.get(key))
            if more:
                self._message[key] = as_text(self._message.get(key)) + more
                yield Piece(more, key in _THINKING)
        for nth, call in objects(delta.get("tool_calls")):
            self._grow(call, nth)

    def _grow(self, part: JsonObject, nth: int) -> None:
        """Add to a call: its id and name come once, its arguments in pieces."""
        index = part.get("index")
        call = self._calls.setdefault(whole(index) if index is not None else nth, {"type": "function"})
        function, more = as_object(call.get("function")), as_object(part.get("function"))
        call["function"] = {
            "name": as_text(function.get("name")) or as_text(more.get("name")),
            "arguments": as_text(function.get("arguments")) + as_text(more.get("arguments")),
        }
        call["id"] = as_text(call.get("id")) or as_text(part.get("id"))

    def whole(self) -> JsonObject:
        """Return the completion."""
        if self._reason is None:
            raise ModelFailed("the answer broke off before its end")
        calls: list[Json] = [self._calls[index] for index in sorted(self._calls)]
        message: JsonObject = {**self._message, "tool_calls": calls} if calls else self._message
        return {"choices": [{"message": message, "finish_reason": self._reason}], "usage": self._usage}


class ResponsesGathering:
    """Its last event holds the whole response."""

    def __init__(self) -> None:
        self._response: JsonObject | None = None

    def take(self, event: JsonObject) -> Iterator[Piece]:
        """Take in an event; deltas of words and of reasoning can be shown."""
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                yield Piece(as_text(event.get("delta")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield Piece(as_text(event.get("delta")), thinking=True)
            case "response.completed" | "response.incomplete" | "response.failed":
                self._response = as_object(event.get("response"))
            case "error":
                raise told_failure({"error": dict(event)})

    def whole(self) -> JsonObject:
        """Return the response."""
        if self._response is None:
            raise ModelFailed("the answer broke off before its end")
        return self._response
