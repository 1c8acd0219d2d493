"""The server side of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import Json, JsonObject, Message
from clew.providers import RESPONSES, Wire
from clew.providers.model import Reply, Stop
from clew.providers.server_side import OpenaiErrorBodies, event, pieces
from clew.providers.shapes import as_text, objects

_CUT = {Stop.MAX_TOKENS: "max_output_tokens", Stop.REFUSED: "content_filter"}


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
        if item.get("type") == "function_call":
            yield {"id": f"fc_{number}_{index}", "status": "completed", **item}
        elif item.get("type") == "reasoning":
            yield {"id": f"rs_{number}_{index}", **item}
        else:
            yield _message_item(item, f"msg_{number}_{index}")


def _message_item(item: JsonObject, item_id: str) -> JsonObject:
    content = item["content"]
    texts = [content] if isinstance(content, str) else [block["text"] for _, block in objects(content)]
    blocks: list[Json] = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": item_id, "status": "completed", "role": "assistant", "content": blocks}


def _events(answer: JsonObject) -> Iterator[JsonObject]:
    begun: JsonObject = {**answer, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in objects(answer["output"]):
        place: JsonObject = {"output_index": index, "item_id": item["id"]}
        emptied = {key: [] if key == "content" else value for key, value in item.items()}
        emptied |= {"arguments": ""} if "arguments" in item else {}
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
    arguments = as_text(item.get("arguments"))
    for piece in pieces(arguments):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    if arguments:
        done: JsonObject = {**place, "name": item["name"], "arguments": arguments}
        yield {"type": "response.function_call_arguments.done", **done}
