"""Requests to and responses from Anthropic's Messages API, whole or streamed. No I/O: see ``remote.py``.

A stream of ``text_delta`` events is assembled into the body that the same request would have got whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from clew.errors import ModelFailed, ModelRefused
from clew.message import Json, JsonObject, Usage
from clew.providers.anthropic import ANTHROPIC
from clew.providers.anthropic.rules_walk import FAMILIES, Sampling, family_of
from clew.providers.api import (
    THINKING_TOKENS,
    error_in_body,
    in_sdk_order,
    int_or_zero,
    question,
    shared_fields,
    tool_stubs,
    with_room_to_think,
    without_refused,
)
from clew.providers.model import Ask, Piece, Reply, Stop
from clew.providers.shapes import as_object, as_text
from clew.providers.wire import Wire
from clew.tokens import model_named

# Changing any of these invalidates the cache of the messages (Anthropic's documentation).
_CACHE_FIELDS = frozenset({"tools", "tool_choice", "thinking", "cache_control", "output_config"})
_STOPS = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "max_tokens": Stop.MAX_TOKENS,
    "model_context_window_exceeded": Stop.MAX_TOKENS,
    "tool_use": Stop.TOOL_CALL,
    "refusal": Stop.REFUSED,
}


_FIRST = ("max_tokens", "messages", "model")
"""The fields that the SDK writes first; the others follow by the alphabet."""


@dataclass(frozen=True, slots=True)
class AnthropicMessages:
    """``POST /v1/messages``."""

    model: str
    path: str = "/v1/messages"
    wire: Wire = ANTHROPIC

    def body(self, ask: Ask) -> JsonObject:
        """Return the request body: the history with its cache marks, then the instruction."""
        shared = shared_fields(ask, ANTHROPIC, self.model, _CACHE_FIELDS)
        output = _output(ask, as_object(shared.pop("output_config", None)))
        asked = question(ask, ANTHROPIC)
        if "tools" not in shared and (stubs := tool_stubs(asked["messages"])):
            shared |= {"tools": stubs, "tool_choice": {"type": "none"}}
        thinking = as_object(shared.get("thinking"))
        room = with_room_to_think(ask, self.model, self._thinking_tokens(thinking))
        fields: JsonObject = {"model": self.model, "max_tokens": room, **shared}
        if ask.temperature is not None and self._takes_temperature(thinking):
            fields["temperature"] = ask.temperature
        if output:
            fields["output_config"] = output
        return {**fields, **asked}

    def _thinking_tokens(self, thinking: JsonObject) -> int:
        """Return the tokens to add for thinking: the session's budget, or a default for models that think."""
        if thinking.get("type") == "enabled":
            return int_or_zero(thinking.get("budget_tokens"))
        quiet = self._is_classic() and thinking.get("type") != "adaptive"
        return 0 if quiet else THINKING_TOKENS

    def _takes_temperature(self, thinking: JsonObject) -> bool:
        """Whether to send a temperature: newer Claude models, and any that think, reject it."""
        return self._is_classic() and thinking.get("type", "disabled") == "disabled"

    def _is_classic(self) -> bool:
        """Whether the model thinks only on request and accepts a temperature: older Claudes, other models."""
        name = family_of(self.model)
        family = FAMILIES.get(name) if name else None
        return name is None or (family is not None and family.sampling is Sampling.ANY)

    def reply(self, value: JsonObject) -> Reply:
        """Read a response."""
        content = value.get("content")
        if not isinstance(content, list):
            raise error_in_body(value)
        message = ANTHROPIC.parse_item({"role": "assistant", "content": content})
        stop = _STOPS.get(as_text(value.get("stop_reason")), Stop.OTHER)
        return Reply(message, stop, _usage(as_object(value.get("usage"))))

    def repaired(self, body: JsonObject, refused: ModelRefused) -> JsonObject | None:
        """Drop the temperature or the schema, if the refusal names it."""
        return without_refused(body, refused, ("temperature", "output_config"))

    def fields(self, max_output_tokens: int) -> JsonObject:
        """Return the model's name and the token limit, at most what the model can write."""
        most = model_named(self.model).max_output_tokens
        return {"model": self.model, "max_tokens": min(max_output_tokens, most)}

    def streaming(self, body: JsonObject) -> JsonObject:
        """Return the body with streaming turned on."""
        return in_sdk_order({**body, "stream": True}, _FIRST)

    def assembler(self) -> AnthropicAssembler:
        """Return an assembler for one streamed message."""
        return AnthropicAssembler()


def _output(ask: Ask, original: JsonObject) -> JsonObject:
    """Return the session's output settings, with this question's schema in place of the session's."""
    output = {key: value for key, value in original.items() if key != "format"}
    if ask.schema is not None:
        output["format"] = {"type": "json_schema", "schema": ask.schema}
    return output


def _usage(usage: JsonObject) -> Usage:
    """Read the usage; Anthropic does not include cached input in ``input_tokens``."""
    read = int_or_zero(usage.get("cache_read_input_tokens"))
    written = int_or_zero(usage.get("cache_creation_input_tokens"))
    fresh = int_or_zero(usage.get("input_tokens"))
    return Usage(fresh + read + written, int_or_zero(usage.get("output_tokens")), read, written)


# Streaming ------------------------------------------------------------------------------------------

_ARGUMENTS = "partial_json"
_GROWING = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": _ARGUMENTS,
}


class AnthropicAssembler:
    """Assembles the events from ``message_start`` to ``message_stop``."""

    def __init__(self) -> None:
        self._message: JsonObject = {}
        self._blocks: dict[int, JsonObject] = {}
        """By index: each block as its start event has it."""
        self._grown: dict[int, dict[str, list[str]]] = {}
        """By index and field: the pieces that followed, ``{0: {"text": ["Hel", "lo"]}}``."""
        self._ended = False

    def add(self, event: JsonObject) -> Iterator[Piece]:
        """Add an event; yield its text or thinking, if any."""
        match event.get("type"):
            case "message_start":
                self._message = dict(as_object(event.get("message")))
            case "content_block_start":
                index = int_or_zero(event.get("index"))
                self._blocks[index] = as_object(event.get("content_block"))
                self._grown.pop(index, None)
            case "content_block_delta":
                yield from self._grow(int_or_zero(event.get("index")), as_object(event.get("delta")))
            case "message_delta":
                usage = {**as_object(self._message.get("usage")), **as_object(event.get("usage"))}
                self._message |= {**as_object(event.get("delta")), "usage": usage}
            case "message_stop":
                self._ended = True

    def _grow(self, index: int, delta: JsonObject) -> Iterator[Piece]:
        kind = as_text(delta.get("type"))
        key = _GROWING.get(kind)
        if key is None:
            return  # an unknown kind of delta: the block keeps the fields of its start event
        more = as_text(delta.get(key))
        self._blocks.setdefault(index, {})
        self._grown.setdefault(index, {}).setdefault(key, []).append(more)
        if kind in ("text_delta", "thinking_delta"):
            yield Piece(more, kind == "thinking_delta")

    def body(self) -> JsonObject:
        """Return the whole message; raise ``ModelFailed`` if the stream has not ended."""
        if not self._ended:
            raise ModelFailed("the answer broke off before its end")
        return {**self._message, "content": [self._finish_block(index) for index in sorted(self._blocks)]}

    def _finish_block(self, index: int) -> JsonObject:
        """Return a block with its collected deltas, and its input as an object."""
        block = self._blocks[index]
        grown = {
            key: as_text(block.get(key)) + "".join(pieces)
            for key, pieces in self._grown.get(index, {}).items()
        }
        written = grown.pop(_ARGUMENTS, None)
        return {**block, **grown} if written is None else {**block, **grown, "input": _arguments(written)}


def _arguments(written: str) -> Json:
    """Parse the arguments of a call."""
    try:
        value: Json = json.loads(written or "{}")
    except (ValueError, RecursionError) as cause:
        raise ModelFailed(
            "the arguments of a tool call cannot be read, or broke off before their end"
        ) from cause
    return value
