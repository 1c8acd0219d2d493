"""Requests to and responses from OpenAI's Responses API, whole or streamed.

No I/O: ``remote.py`` sends the bodies. The last event of a stream holds the whole response.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.errors import ModelFailed, ModelRefused
from clew.message import JsonObject, Message, Role, Usage
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
from clew.providers.openai_responses import RESPONSES
from clew.providers.shapes import as_list, as_object, as_text
from clew.providers.wire import Wire

_CACHE_FIELDS = frozenset(
    {"tools", "reasoning", "store", "user"}
    | {"prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"}
)
_CUT = {"max_output_tokens": Stop.MAX_TOKENS, "content_filter": Stop.REFUSED}


_FIRST = ("model", "stream", "service_tier")
"""The fields that the SDK writes first; the others follow by the alphabet."""


@dataclass(frozen=True, slots=True)
class OpenaiResponses:
    """``POST /responses``."""

    model: str
    path: str = "/responses"
    wire: Wire = RESPONSES

    def body(self, ask: Ask) -> JsonObject:
        """Return the request body; the provider stores nothing unless the session's own requests say so."""
        thinking = thinking_tokens(self.model)
        room = with_room_to_think(ask, self.model, thinking)
        fields: JsonObject = {"model": self.model, "max_output_tokens": room, "store": False}
        if ask.temperature is not None and not thinking:
            fields["temperature"] = ask.temperature
        if ask.schema is not None:
            wanted: JsonObject = {"type": "json_schema", "name": "answer", "schema": ask.schema}
            fields["text"] = {"format": wanted}
        shared = shared_fields(ask, RESPONSES, self.model, _CACHE_FIELDS)
        return {**fields, **shared, **question(ask, RESPONSES)}

    def reply(self, value: JsonObject) -> Reply:
        """Read the output items as one message."""
        if not isinstance(value.get("output"), list) or value.get("status") == "failed":
            raise error_in_body(value)
        items = RESPONSES.parse(as_list(value["output"]))
        message = Message(Role.ASSISTANT, tuple(part for item in items for part in item.parts))
        return Reply(message, _stop(value, message), _usage(as_object(value.get("usage"))))

    def repaired(self, body: JsonObject, refused: ModelRefused) -> JsonObject | None:
        """Drop the temperature, the schema or ``store``, if the refusal names it."""
        return without_refused(body, refused, ("temperature", "text", "store"))

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the model's name and the output token limit; the provider stores nothing."""
        return {"model": self.model, "max_output_tokens": max_output_tokens, "store": False}

    def streaming(self, body: JsonObject) -> JsonObject:
        """Return the body with streaming turned on."""
        return in_sdk_order({**body, "stream": True}, _FIRST)

    def assembler(self) -> ResponsesAssembler:
        """Return an assembler for one streamed response."""
        return ResponsesAssembler()


def _stop(value: JsonObject, message: Message) -> Stop:
    if value.get("status") == "incomplete":
        reason = as_text(as_object(value.get("incomplete_details")).get("reason"))
        return _CUT.get(reason, Stop.OTHER)
    if any(not call.server_side for call in message.calls):
        return Stop.TOOL_CALL
    blocks = [as_object(part.native.value) for part in message.parts if part.native]
    if any(block.get("type") == "refusal" for block in blocks):
        return Stop.REFUSED
    return Stop.END if value.get("status", "completed") == "completed" else Stop.OTHER


def _usage(usage: JsonObject) -> Usage:
    details = as_object(usage.get("input_tokens_details"))
    return Usage(
        int_or_zero(usage.get("input_tokens")),
        int_or_zero(usage.get("output_tokens")),
        int_or_zero(details.get("cached_tokens")),
        int_or_zero(details.get("cache_write_tokens")),
    )


# Streaming ------------------------------------------------------------------------------------------


class ResponsesAssembler:
    """Keeps the last event of a stream, which holds the whole response."""

    def __init__(self) -> None:
        self._response: JsonObject | None = None

    def add(self, event: JsonObject) -> Iterator[Piece]:
        """Add an event; yield its text or reasoning, if any."""
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                yield Piece(as_text(event.get("delta")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield Piece(as_text(event.get("delta")), thinking=True)
            case "response.completed" | "response.incomplete" | "response.failed":
                self._response = as_object(event.get("response"))
            case "error":
                raise error_in_body({"error": dict(event)})

    def body(self) -> JsonObject:
        """Return the whole response; raise ``ModelFailed`` if the stream has not ended."""
        if self._response is None:
            raise ModelFailed("the answer broke off before its end")
        return self._response
