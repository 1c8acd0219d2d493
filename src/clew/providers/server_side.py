"""The server side of provider APIs: replies written as each provider's server writes them.

The proxy uses it for answers of its own, and the test server for all of them:
``SERVER_SIDES["anthropic"].response(reply, request, 1)`` is ``{"id": "msg_1", "type": "message", …}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Protocol

from clew.message import Json, JsonObject, Message, Thinking
from clew.providers import ANTHROPIC, OPENAI, RESPONSES, Wire
from clew.providers.model import Reply, Stop
from clew.providers.shapes import as_object, as_text, objects

PIECE_CHARS = 24
"""Characters of text in one streamed event."""


class ServerSide(Protocol):
    """Writes replies as one provider's server does: for the proxy's own answers, and for the test server."""

    @property
    def wire(self) -> Wire:
        """Return the format of its requests."""

    def response(self, reply: Reply, request: JsonObject, number: int) -> JsonObject:
        """Return the body of an answer to the request; its ids are made from ``number``."""

    def stream(self, answer: JsonObject, request: JsonObject) -> Iterator[str]:
        """Yield the same answer as server-sent events."""

    def error(self, status: int, message: str, code: str | None) -> JsonObject:
        """Return the body of an error."""

    def too_long(self, tokens: int, limit: int) -> str:
        """Return this API's message for a request that is too long."""


def _event(value: JsonObject, name: Json = None) -> str:
    """Return one server-sent event as text."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n"


def _pieces(text: str) -> Iterator[str]:
    """Split a text into the pieces of streamed events."""
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]


# Anthropic Messages ---------------------------------------------------------------------------------

_ANTHROPIC_STOPS = {
    Stop.END: "end_turn",
    Stop.MAX_TOKENS: "max_tokens",
    Stop.TOOL_CALL: "tool_use",
    Stop.REFUSED: "refusal",
    Stop.OTHER: "pause_turn",
}
_ANTHROPIC_ERRORS = {
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
    """Writes replies as Anthropic's Messages server does."""

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
            "stop_reason": _ANTHROPIC_STOPS[reply.stop],
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
        yield _anthropic_event("message_start", message=start)
        for index, block in objects(answer["content"]):
            yield _anthropic_event("content_block_start", index=index, content_block=_emptied(block))
            for delta in _block_deltas(block):
                yield _anthropic_event("content_block_delta", index=index, delta=delta)
            yield _anthropic_event("content_block_stop", index=index)
        ending: JsonObject = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        yield _anthropic_event("message_delta", delta=ending, usage={"output_tokens": usage["output_tokens"]})
        yield _anthropic_event("message_stop")

    def error(self, status: int, message: str, code: str | None) -> JsonObject:
        """Return an error with Anthropic's type for the status."""
        kind = code or _ANTHROPIC_ERRORS.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}

    def too_long(self, tokens: int, limit: int) -> str:
        """Return Anthropic's message for a request that is too long."""
        return f"prompt is too long: {tokens} tokens > {limit} maximum"


def _anthropic_event(kind: str, **fields: Json) -> str:
    return _event({"type": kind, **fields}, kind)


def _emptied(block: JsonObject) -> JsonObject:
    """Return a block as in its start event, without contents."""
    empty: JsonObject = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: empty.get(key, value) for key, value in block.items()}


def _block_deltas(block: JsonObject) -> Iterator[JsonObject]:
    for piece in _pieces(as_text(block.get("text"))):
        yield {"type": "text_delta", "text": piece}
    for piece in _pieces(as_text(block.get("thinking"))):
        yield {"type": "thinking_delta", "thinking": piece}
    if block.get("signature"):
        yield {"type": "signature_delta", "signature": block["signature"]}
    if "input" in block:
        for piece in _pieces(json.dumps(block["input"])):
            yield {"type": "input_json_delta", "partial_json": piece}


# OpenAI, both APIs ----------------------------------------------------------------------------------

_OPENAI_ERRORS = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}


class OpenaiErrorBodies:
    """Error responses of OpenAI's two APIs."""

    def error(self, status: int, message: str, code: str | None) -> JsonObject:
        """Return the body of an error with OpenAI's type and code for the status."""
        usual = "invalid_request_error" if status < 500 else "server_error"
        kind, known = _OPENAI_ERRORS.get(status, (usual, None))
        return {"error": {"message": message, "type": kind, "param": None, "code": code or known}}

    def too_long(self, tokens: int, limit: int) -> str:
        """Return OpenAI's message for a request that is too long."""
        return (
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
            f"{tokens} tokens. Please reduce the length of the messages."
        )


# OpenAI Chat Completions ----------------------------------------------------------------------------

_CHAT_STOPS = {
    Stop.END: "stop",
    Stop.MAX_TOKENS: "length",
    Stop.TOOL_CALL: "tool_calls",
    Stop.REFUSED: "content_filter",
    Stop.OTHER: "other",
}


class OpenaiChatServerSide(OpenaiErrorBodies):
    """Writes replies as OpenAI's Chat Completions server does."""

    wire: Wire = OPENAI

    def response(self, reply: Reply, request: JsonObject, number: int) -> JsonObject:
        """Return a completion with one choice."""
        usage = reply.usage
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": request.get("model"),
            "choices": [
                {"index": 0, "message": _chat_message(reply), "finish_reason": _CHAT_STOPS[reply.stop]}
            ],
            "usage": {
                "prompt_tokens": usage.input_tokens,
                "completion_tokens": usage.output_tokens,
                "total_tokens": usage.input_tokens + usage.output_tokens,
                "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
            },
        }

    def stream(self, answer: JsonObject, request: JsonObject) -> Iterator[str]:
        """Yield the chunks of a streamed completion."""
        head: JsonObject = {key: answer[key] for key in ("id", "created", "model")}
        head["object"] = "chat.completion.chunk"
        choice = next(choice for _, choice in objects(answer["choices"]))
        for delta in _chat_deltas(as_object(choice["message"])):
            yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        ending: Json = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
        yield _event({**head, "choices": [ending]})
        if as_object(request.get("stream_options")).get("include_usage"):
            yield _event({**head, "choices": [], "usage": answer["usage"]})
        yield "data: [DONE]\n\n"


def _chat_message(reply: Reply) -> JsonObject:
    written = as_object(OPENAI.render_items(reply.message)[0])
    message: JsonObject = {"role": "assistant", "content": reply.text or None, "refusal": None}
    thoughts = [part.text for part in reply.message.parts if isinstance(part, Thinking)]
    if thoughts:
        message["reasoning_content"] = "\n".join(thoughts)
    if "tool_calls" in written:
        message["tool_calls"] = written["tool_calls"]
    return message


def _chat_deltas(message: JsonObject) -> Iterator[JsonObject]:
    yield {"role": "assistant", "content": ""}
    for key in ("reasoning_content", "content"):
        for piece in _pieces(as_text(message.get(key))):
            yield {key: piece}
    for index, call in objects(message.get("tool_calls")):
        function = as_object(call["function"])
        yield {"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]}
        for piece in _pieces(as_text(function["arguments"])):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


# OpenAI Responses -----------------------------------------------------------------------------------

_INCOMPLETE = {Stop.MAX_TOKENS: "max_output_tokens", Stop.REFUSED: "content_filter"}
_ID_PREFIXES = {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}
"""How the ids of an item of a type begin; others begin with the type."""

_STREAMED_INPUT = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}
"""The types of calls whose input is streamed: the field, and how the types of its events begin."""


class OpenaiResponsesServerSide(OpenaiErrorBodies):
    """Writes replies as OpenAI's Responses server does."""

    wire: Wire = RESPONSES

    def response(self, reply: Reply, request: JsonObject, number: int) -> JsonObject:
        """Return a response."""
        usage = reply.usage
        reason = _INCOMPLETE.get(reply.stop)
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
            yield _event({**value, "sequence_number": number}, value["type"])


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
        for piece in _pieces(text):
            yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **at, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": block}
    key, event_type = _STREAMED_INPUT.get(as_text(item["type"]), ("", ""))
    streamed = as_text(item.get(key))
    for piece in _pieces(streamed):
        yield {"type": f"{event_type}.delta", **place, "delta": piece}
    if streamed:
        yield {"type": f"{event_type}.done", **place, "name": item.get("name"), key: streamed}


SERVER_SIDES: dict[str, ServerSide] = {
    "anthropic": AnthropicServerSide(),
    "openai": OpenaiChatServerSide(),
    "responses": OpenaiResponsesServerSide(),
}
"""By the name of the wire format."""
