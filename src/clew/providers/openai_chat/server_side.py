"""The server side of OpenAI's Chat Completions API: replies written as the provider's server writes them.

The proxy uses it for answers of its own, and the test server for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import Json, JsonObject, Thinking
from clew.providers import OPENAI, Wire
from clew.providers.model import Reply, Stop
from clew.providers.server_side import OpenaiErrorBodies, event, pieces
from clew.providers.shapes import as_object, as_text, objects

_STOPS = {
    Stop.END: "stop",
    Stop.MAX_TOKENS: "length",
    Stop.TOOL_CALL: "tool_calls",
    Stop.REFUSED: "content_filter",
    Stop.OTHER: "other",
}


class OpenaiChatServerSide(OpenaiErrorBodies):
    """Writes replies as OpenAI's Chat Completions server does.

    For the proxy's own answers, and for the test server.
    """

    wire: Wire = OPENAI

    def response(self, reply: Reply, request: JsonObject, number: int) -> JsonObject:
        """Return a completion with one choice."""
        usage = reply.usage
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": request.get("model"),
            "choices": [{"index": 0, "message": _message(reply), "finish_reason": _STOPS[reply.stop]}],
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
        for delta in _deltas(as_object(choice["message"])):
            yield event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        ending: Json = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
        yield event({**head, "choices": [ending]})
        if as_object(request.get("stream_options")).get("include_usage"):
            yield event({**head, "choices": [], "usage": answer["usage"]})
        yield "data: [DONE]\n\n"


def _message(reply: Reply) -> JsonObject:
    written = as_object(OPENAI.render_items(reply.message)[0])
    message: JsonObject = {"role": "assistant", "content": reply.text or None, "refusal": None}
    thoughts = [part.text for part in reply.message.parts if isinstance(part, Thinking)]
    if thoughts:
        message["reasoning_content"] = "\n".join(thoughts)
    if "tool_calls" in written:
        message["tool_calls"] = written["tool_calls"]
    return message


def _deltas(message: JsonObject) -> Iterator[JsonObject]:
    yield {"role": "assistant", "content": ""}
    for key in ("reasoning_content", "content"):
        for piece in pieces(as_text(message.get(key))):
            yield {key: piece}
    for index, call in objects(message.get("tool_calls")):
        function = as_object(call["function"])
        yield {"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]}
        for piece in pieces(as_text(function["arguments"])):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
