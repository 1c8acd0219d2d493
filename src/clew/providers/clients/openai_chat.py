"""Requests to and responses from OpenAI's Chat Completions API and compatible servers."""

from __future__ import annotations

from dataclasses import dataclass

from clew.errors import ModelRefused
from clew.message import JsonObject
from clew.providers import OPENAI, Wire
from clew.providers.clients.api import whole, without_refused
from clew.providers.clients.failures import told_failure
from clew.providers.clients.openai_streams import ChatGathering
from clew.providers.clients.question import question, shared_fields, with_room_to_think
from clew.providers.clients.reasoning import thinking_tokens
from clew.providers.model import Ask, Reply, Stop, Usage
from clew.providers.shapes import as_object, as_text, objects

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
            raise told_failure(value)
        given = as_object(choice["message"])
        stop = _STOPS.get(as_text(choice.get("finish_reason")), Stop.OTHER)
        stop = Stop.REFUSED if given.get("refusal") else stop
        message = OPENAI.parse_item({**given, "role": "assistant"})
        return Reply(message, stop, _usage(as_object(value.get("usage"))))

    def mended(self, body: JsonObject, refused: ModelRefused) -> JsonObject | None:
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
        return {**body, "stream": True, "stream_options": {"include_usage": True}}

    def gathering(self) -> ChatGathering:
        """Return an assembler for one streamed completion."""
        return ChatGathering()


def _usage(usage: JsonObject) -> Usage:
    details = as_object(usage.get("prompt_tokens_details"))
    return Usage(
        whole(usage.get("prompt_tokens")),
        whole(usage.get("completion_tokens")),
        whole(details.get("cached_tokens")),
        whole(details.get("cache_write_tokens")),
    )
