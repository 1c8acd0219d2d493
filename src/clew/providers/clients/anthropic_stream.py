"""Assemble a streamed response of Anthropic's Messages API into a whole one."""

from __future__ import annotations

import json
from collections.abc import Iterator

from clew.errors import ModelFailed
from clew.message import Json, JsonObject
from clew.providers.clients.api import whole
from clew.providers.clients.pieces import Piece
from clew.providers.shapes import as_object, as_text

_ARGUMENTS = "partial_json"
_GROWING = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": _ARGUMENTS,
}


class AnthropicGathering:
    """Assembles the events from ``message_start`` to ``message_stop``."""

    def __init__(self) -> None:
        self._message: JsonObject = {}
        self._blocks: dict[int, JsonObject] = {}
        self._grown: dict[int, dict[str, list[str]]] = {}
        self._ended = False

    def take(self, event: JsonObject) -> Iterator[Piece]:
        """Add an event; yield its text or thinking, if any."""
        match event.get("type"):
            case "message_start":
                self._message = dict(as_object(event.get("message")))
            case "content_block_start":
                index = whole(event.get("index"))
                self._blocks[index] = as_object(event.get("content_block"))
                self._grown.pop(index, None)
            case "content_block_delta":
                yield from self._grow(whole(event.get("index")), as_object(event.get("delta")))
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

    def whole(self) -> JsonObject:
        """Return the whole message; raise ``ModelFailed`` if the stream has not ended."""
        if not self._ended:
            raise ModelFailed("the answer broke off before its end")
        return {**self._message, "content": [self._closed(index) for index in sorted(self._blocks)]}

    def _closed(self, index: int) -> JsonObject:
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
