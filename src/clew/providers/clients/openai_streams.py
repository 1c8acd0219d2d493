"""Assemble streamed responses of OpenAI's two APIs into whole ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from clew.errors import ModelFailed
from clew.message import Json, JsonObject
from clew.providers.clients.api import whole
from clew.providers.clients.failures import told_failure
from clew.providers.clients.pieces import Piece
from clew.providers.shapes import as_object, as_text, objects

_THINKING = ("reasoning_content", "reasoning")
"""The names that servers use for the field with streamed reasoning."""


@dataclass(slots=True)
class _Call:
    """A tool call that is being streamed."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def whole(self) -> JsonObject:
        """Return the call as in a non-streamed message."""
        function: JsonObject = {"name": self.name, "arguments": "".join(self.arguments)}
        return {"type": "function", "function": function, "id": self.id}


class ChatGathering:
    """Assembles the chunks up to the one with a finish reason, and the usage after it."""

    def __init__(self) -> None:
        self._said: dict[str, list[str]] = {}
        self._calls: dict[int, _Call] = {}
        self._reason: Json = None
        self._usage: Json = None

    def take(self, event: JsonObject) -> Iterator[Piece]:
        """Add a chunk; yield its text or reasoning, if any."""
        self._usage = event.get("usage") or self._usage
        choice = next((one for _, one in objects(event.get("choices"))), None)
        if choice is None:
            return
        self._reason = choice.get("finish_reason") or self._reason
        delta = as_object(choice.get("delta"))
        for key in (*_THINKING, "content", "refusal"):
            more = as_text(delta.get(key))
            if more:
                self._said.setdefault(key, []).append(more)
                yield Piece(more, key in _THINKING)
        for nth, call in objects(delta.get("tool_calls")):
            self._grow(call, nth)

    def _grow(self, part: JsonObject, nth: int) -> None:
        """Add a delta to a call: the id and name come once, the arguments in pieces."""
        index = part.get("index")
        call = self._calls.setdefault(whole(index) if index is not None else nth, _Call())
        more = as_object(part.get("function"))
        call.id = call.id or as_text(part.get("id"))
        call.name = call.name or as_text(more.get("name"))
        call.arguments.append(as_text(more.get("arguments")))

    def whole(self) -> JsonObject:
        """Return the whole completion; raise ``ModelFailed`` if the stream has not ended."""
        if self._reason is None:
            raise ModelFailed("the answer broke off before its end")
        message: JsonObject = {"role": "assistant", "content": None}
        message |= {key: "".join(pieces) for key, pieces in self._said.items()}
        if self._calls:
            message["tool_calls"] = [self._calls[index].whole() for index in sorted(self._calls)]
        return {"choices": [{"message": message, "finish_reason": self._reason}], "usage": self._usage}


class ResponsesGathering:
    """Keeps the last event of a stream, which holds the whole response."""

    def __init__(self) -> None:
        self._response: JsonObject | None = None

    def take(self, event: JsonObject) -> Iterator[Piece]:
        """Add an event; yield its text or reasoning, if any."""
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
        """Return the whole response; raise ``ModelFailed`` if the stream has not ended."""
        if self._response is None:
            raise ModelFailed("the answer broke off before its end")
        return self._response
