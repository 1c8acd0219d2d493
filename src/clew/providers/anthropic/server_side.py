"""The server side of Anthropic's Messages API: replies written as the provider's server writes them.

The proxy uses it for answers of its own, and the test server for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from clew.message import Json, JsonObject
from clew.providers import ANTHROPIC, Wire
from clew.providers.model import Reply, Stop
from clew.providers.server_side import event, pieces
from clew.providers.shapes import as_object, as_text, objects

_STOPS = {
    Stop.END: "end_turn",
    Stop.MAX_TOKENS: "max_tokens",
    Stop.TOOL_CALL: "tool_use",
    Stop.REFUSED: "refusal",
    Stop.OTHER: "pause_turn",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class AnthropicServerSide:
    """Writes replies as Anthropic's Messages server does.

    For the proxy's own answers, and for the test server.
    """

    wire: Wire = ANTHROPIC

    def response(self, reply: Reply, request: JsonObject, number: int) -> JsonObject:
        """Return a message."""
        content = as_object(ANTHROPIC.render_items(reply.message)[0])["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}] if content else []
        usage = reply.usage
        fresh = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": request.get("model"),
            "content": content,
            "stop_reason": _STOPS[reply.stop],
            "stop_sequence": None,
            "stop_details": None,
            "usage": {
                "input_tokens": fresh,
                "cache_creation_input_tokens": usage.cache_write_tokens,
                "cache_read_input_tokens": usage.cache_read_tokens,
                "output_tokens": usage.output_tokens,
            },
        }

    def stream(self, answer: JsonObject, request: JsonObject) -> Iterator[str]:
        """Yield the events of a streamed message."""
        usage = as_object(answer["usage"])
        start: JsonObject = {
            **answer,
            "content": [],
            "stop_reason": None,
            "usage": {**usage, "output_tokens": 1},
        }
        yield _event("message_start", message=start)
        for index, block in objects(answer["content"]):
            yield _event("content_block_start", index=index, content_block=_empty(block))
            for delta in _deltas(block):
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        ending: JsonObject = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        yield _event("message_delta", delta=ending, usage={"output_tokens": usage["output_tokens"]})
        yield _event("message_stop")

    def error(self, status: int, message: str, code: str | None) -> JsonObject:
        """Return an error with Anthropic's type for the status."""
        kind = code or _ERRORS.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    def too_long(self, tokens: int, limit: int) -> str:
        """Return Anthropic's message for a request that is too long."""
        return f"prompt is too long: {tokens} tokens > {limit} maximum"


def _event(kind: str, **fields: Json) -> str:
    return event({"type": kind, **fields}, kind)


def _empty(block: JsonObject) -> JsonObject:
    """Return a block as in its start event, without contents."""
    emptied: JsonObject = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: emptied.get(key, value) for key, value in block.items()}


def _deltas(block: JsonObject) -> Iterator[JsonObject]:
    for piece in pieces(as_text(block.get("text"))):
        yield {"type": "text_delta", "text": piece}
    for piece in pieces(as_text(block.get("thinking"))):
        yield {"type": "thinking_delta", "thinking": piece}
    if block.get("signature"):
        yield {"type": "signature_delta", "signature": block["signature"]}
    if "input" in block:
        for piece in pieces(json.dumps(block["input"])):
            yield {"type": "input_json_delta", "partial_json": piece}
