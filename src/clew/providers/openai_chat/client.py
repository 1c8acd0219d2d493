"""Requests to and responses from OpenAI's Chat Completions API and compatible servers, whole or streamed.

No I/O: ``remote.py`` sends the bodies. A stream of chunks is assembled into the body of a whole response.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from clew.errors import ModelFailed, ModelRefused
from clew.message import Json, JsonObject, Usage
from clew.providers.api import (
    error_in_body,
    in_sdk_order,
    int_or_zero,
    question,
    shared_fields,
    thinking_tokens,
    with_room_to_think,
    without_refused,
)
from clew.providers.model import Ask, Piece, Reply, Stop
from clew.providers.openai_chat import OPENAI
from clew.providers.shapes import as_object, as_text, objects
from clew.providers.wire import Wire

_CACHE_FIELDS = frozenset(
    {"tools", "functions", "reasoning_effort", "user"}
    | {"prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"}
)
_STOPS = {
    "stop": Stop.END,
    "length": Stop.MAX_TOKENS,
    "tool_calls": Stop.TOOL_CALL,
    "function_call": Stop.TOOL_CALL,
    "content_filter": Stop.REFUSED,
}
_LIMITS = ("max_completion_tokens", "max_tokens")


_FIRST = ("model", "stream", "service_tier", "messages")
"""The fields that the SDK writes first; the others follow by the alphabet."""


@dataclass(frozen=True, slots=True)
class OpenaiChat:
    """``POST /chat/completions``."""

    model: str
    limit_field: str = _LIMITS[0]
    """The name of the output limit: ``max_completion_tokens`` for OpenAI, ``max_tokens`` for most others."""
    path: str = "/chat/completions"
    wire: Wire = OPENAI

    def body(self, ask: Ask) -> JsonObject:
        """Return the request body."""
        thinking = thinking_tokens(self.model)
        fields: JsonObject = {"model": self.model}
        fields[self.limit_field] = with_room_to_think(ask, self.model, thinking)
        if ask.temperature is not None and not thinking:
            fields["temperature"] = ask.temperature
        if ask.schema is not None:
            wanted: JsonObject = {"name": "answer", "schema": ask.schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return {**fields, **shared_fields(ask, OPENAI, self.model, _CACHE_FIELDS), **question(ask, OPENAI)}

    def reply(self, value: JsonObject) -> Reply:
        """Read the first choice."""
        choice = next((choice for _, choice in objects(value.get("choices"))), None)
        if choice is None or not isinstance(choice.get("message"), dict):
            raise error_in_body(value)
        original = as_object(choice["message"])
        stop = _STOPS.get(as_text(choice.get("finish_reason")), Stop.OTHER)
        stop = Stop.REFUSED if original.get("refusal") else stop
        message = OPENAI.parse_item({**original, "role": "assistant"})
        return Reply(message, stop, _usage(as_object(value.get("usage"))))

    def repaired(self, body: JsonObject, refused: ModelRefused) -> JsonObject | None:
        """Drop the temperature, schema or stream options, or use the other name of the output limit."""
        shorter = without_refused(body, refused, ("temperature", "response_format", "stream_options"))
        if shorter is not None or self.limit_field not in body or self.limit_field not in refused.detail:
            return shorter
        other = next(name for name in _LIMITS if name != self.limit_field)
        return {other if key == self.limit_field else key: value for key, value in body.items()}

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the model's name and the output token limit."""
        return {"model": self.model, self.limit_field: max_output_tokens}

    def streaming(self, body: JsonObject) -> JsonObject:
        """Return the body with streaming turned on, and usage in the last event."""
        added: JsonObject = {"stream": True, "stream_options": {"include_usage": True}}
        return in_sdk_order({**body, **added}, _FIRST)

    def assembler(self) -> ChatAssembler:
        """Return an assembler for one streamed completion."""
        return ChatAssembler()


def _usage(usage: JsonObject) -> Usage:
    details = as_object(usage.get("prompt_tokens_details"))
    return Usage(
        int_or_zero(usage.get("prompt_tokens")),
        int_or_zero(usage.get("completion_tokens")),
        int_or_zero(details.get("cached_tokens")),
        int_or_zero(details.get("cache_write_tokens")),
    )


# Streaming ------------------------------------------------------------------------------------------

_THINKING = ("reasoning_content", "reasoning")
"""The names that servers use for the field with streamed reasoning."""


@dataclass(slots=True)
class _Call:
    """A tool call that is being streamed."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def body(self) -> JsonObject:
        """Return the call as in a non-streamed message."""
        function: JsonObject = {"name": self.name, "arguments": "".join(self.arguments)}
        return {"type": "function", "function": function, "id": self.id}


class ChatAssembler:
    """Assembles the chunks up to the one with a finish reason, and the usage after it."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, _Call] = {}
        self._reason: Json = None
        self._usage: Json = None

    def add(self, event: JsonObject) -> Iterator[Piece]:
        """Add a chunk; yield its text or reasoning, if any."""
        self._usage = event.get("usage") or self._usage
        choice = next((data for _, data in objects(event.get("choices"))), None)
        if choice is None:
            return
        self._reason = choice.get("finish_reason") or self._reason
        delta = as_object(choice.get("delta"))
        for key in (*_THINKING, "content", "refusal"):
            more = as_text(delta.get(key))
            if more:
                self._texts.setdefault(key, []).append(more)
                yield Piece(more, key in _THINKING)
        for nth, call in objects(delta.get("tool_calls")):
            self._grow(call, nth)

    def _grow(self, part: JsonObject, nth: int) -> None:
        """Add a delta to a call: the id and name come once, the arguments in pieces."""
        index = part.get("index")
        call = self._calls.setdefault(int_or_zero(index) if index is not None else nth, _Call())
        more = as_object(part.get("function"))
        call.id = call.id or as_text(part.get("id"))
        call.name = call.name or as_text(more.get("name"))
        call.arguments.append(as_text(more.get("arguments")))

    def body(self) -> JsonObject:
        """Return the whole completion; raise ``ModelFailed`` if the stream has not ended."""
        if self._reason is None:
            raise ModelFailed("the answer broke off before its end")
        message: JsonObject = {"role": "assistant", "content": None}
        message |= {key: "".join(pieces) for key, pieces in self._texts.items()}
        if self._calls:
            message["tool_calls"] = [self._calls[index].body() for index in sorted(self._calls)]
        return {"choices": [{"message": message, "finish_reason": self._reason}], "usage": self._usage}
