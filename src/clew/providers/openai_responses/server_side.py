"""The server side of OpenAI's Responses API: replies written as the provider's server writes them.

The proxy uses it for answers of its own, and the test server for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import Json, JsonObject, Message
from clew.providers import RESPONSES, Wire
from clew.providers.model import Reply, Stop
from clew.providers.server_side import OpenaiErrorBodies, event, pieces
from clew.providers.shapes import as_text, objects

_CUT = {Stop.MAX_TOKENS: "max_output_tokens", Stop.REFUSED: "content_filter"}


_ID_PREFIXES = {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}
"""How the ids of an item of a type begin; others begin with the type."""

_STREAMED_INPUT = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}
"""The types of calls whose input is streamed: the field, and how the types of its events begin."""


class OpenaiResponsesServerSide(OpenaiErrorBodies):
    """Writes replies as OpenAI's Responses server does.

    For the proxy's own answers, and for the test server.
    """

    wire: Wire = RESPONSES

    def response(self, reply: Reply, request: JsonObject, number: int) -> JsonObject:
        """Return a response."""
        usage = reply.usage
        reason = _CUT.get(reply.stop)
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 0,
            "status": "incomplete" if reason else "completed",
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "model": request.get("model"),
            "output": list(_items(reply.message, number)),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": usage.input_tokens,
                "input_tokens_details": {
                    "cached_tokens": usage.cache_read_tokens,
                    "cache_write_tokens": usage.cache_write_tokens,
                },
                "output_tokens": usage.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.input_tokens + usage.output_tokens,
            },
        }

    def stream(self, answer: JsonObject, request: JsonObject) -> Iterator[str]:
        """Yield the events of a streamed response, numbered."""
        for number, value in enumerate(_events(answer)):
            yield event({**value, "sequence_number": number}, value["type"])


def _items(message: Message, number: int) -> Iterator[Json]:
    for index, item in objects(list(RESPONSES.render_items(message))):
        kind = as_text(item.get("type")) or "message"
        item_id = f"{_ID_PREFIXES.get(kind, kind)}_{number}_{index}"
        if kind == "message":
            yield _message_item(item, item_id)
        elif kind == "reasoning":
            yield {"id": item_id, **item}
        else:
            yield {"id": item_id, "status": "completed", **item}


def _message_item(item: JsonObject, item_id: str) -> JsonObject:
    content = item.get("content")
    blocks: list[Json] = []
    for _, block in objects([{"text": content}] if isinstance(content, str) else content):
        text = block.get("text")
        is_text = isinstance(text, str)
        blocks.append({"type": "output_text", "text": text, "annotations": []} if is_text else block)
    return {"type": "message", "id": item_id, "status": "completed", "role": "assistant", "content": blocks}


def _events(answer: JsonObject) -> Iterator[JsonObject]:
    start: JsonObject = {**answer, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": start}
    yield {"type": "response.in_progress", "response": start}
    for index, item in objects(answer["output"]):
        place: JsonObject = {"output_index": index, "item_id": item["id"]}
        key, _ = _STREAMED_INPUT.get(as_text(item["type"]), ("", ""))
        emptied: JsonObject = {**item, **({"content": []} if "content" in item else {})}
        emptied |= {key: ""} if key else {}
        yield {"type": "response.output_item.added", "output_index": index, "item": emptied}
        yield from _item_events(item, place)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{answer['status']}", "response": answer}


def _item_events(item: JsonObject, place: JsonObject) -> Iterator[JsonObject]:
    for index, block in objects(item.get("content")):
        at: JsonObject = {**place, "content_index": index}
        text = as_text(block.get("text"))
        yield {"type": "response.content_part.added", **at, "part": {**block, "text": ""}}
        for piece in pieces(text):
            yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **at, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": block}
    key, event_type = _STREAMED_INPUT.get(as_text(item["type"]), ("", ""))
    streamed = as_text(item.get(key))
    for piece in pieces(streamed):
        yield {"type": f"{event_type}.delta", **place, "delta": piece}
    if streamed:
        yield {"type": f"{event_type}.done", **place, "name": item.get("name"), key: streamed}
