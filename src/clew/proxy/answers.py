"""The response to a compaction request, in the shape that its client expects."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from clew.message import Json, JsonObject, Role, Usage, text_message
from clew.providers.model import Reply
from clew.providers.server_side import SERVER_SIDES
from clew.proxy.digests import WrittenDigest
from clew.proxy.reaction import HttpAnswer, Reaction
from clew.proxy.requests import CompactionRequest, RequestKind
from clew.proxy.sealed import open_digests, sealed_item

USER_CHARS = 80_000
"""Most characters of user messages in a compacted list, newest first: 20,000 tokens, as Codex keeps."""
THREADS_BETA = "message-threads-2026-08-12"


def answer(request: CompactionRequest, digest: WrittenDigest) -> HttpAnswer:
    """Return the digest as the answer to a compaction request."""
    if request.kind is RequestKind.ENDPOINT:
        return _json(_compacted(request, digest))
    api = SERVER_SIDES[request.wire]
    text = digest.text if request.kind is RequestKind.TRIGGER else f"<summary>\n{digest.text}\n</summary>"
    usage = Usage(input_tokens=0, output_tokens=digest.tokens)
    value = api.response(Reply(text_message(Role.ASSISTANT, text), usage=usage), request.body, 0)
    value["id"] = f"{str(value['id']).partition('_')[0]}_{os.urandom(12).hex()}"
    if request.kind is RequestKind.TRIGGER:
        value["output"] = [sealed_item(digest.sealed())]
    if "created_at" in value:
        value["created_at"] = int(time.time())
    if request.body.get("stream"):
        return HttpAnswer(200, "".join(api.stream(value, request.body)).encode(), "text/event-stream")
    return _json(value)


def _json(value: Json, status: int = 200) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(value).encode())


def _compacted(request: CompactionRequest, digest: WrittenDigest) -> JsonObject:
    """Return the response of ``/responses/compact``: the user's messages, then one opaque item."""
    output: list[Json] = [*_users(request.entries), sealed_item(digest.sealed())]
    return {
        "id": f"resp_{os.urandom(12).hex()}",
        "object": "response.compaction",
        "created_at": int(time.time()),
        "output": output,
        "usage": {
            "input_tokens": 0,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": digest.tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": digest.tokens,
        },
    }


def _users(entries: list[Any]) -> list[Json]:
    """Return the newest messages of the user, as they are; clew's earlier digest is in the new one."""
    kept: list[Json] = []
    room = USER_CHARS
    for entry in reversed(entries):
        is_message = isinstance(entry, dict) and entry.get("type", "message") == "message"
        if not is_message or entry.get("role") != "user":
            continue
        room -= len(json.dumps(entry.get("content")))
        if room < 0:
            break
        kept.append(_item(entry))
    return kept[::-1]


def _item(entry: JsonObject) -> JsonObject:
    content = entry.get("content")
    blocks: Json = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    return {
        "id": f"msg_{os.urandom(12).hex()}",
        "status": "completed",
        **entry,
        "type": "message",
        "content": blocks,
    }


def opened_body(raw: bytes) -> bytes | None:
    """Return a Responses body in which clew's sealed items are readable; None if it has none."""
    body = json.loads(raw)
    items = body.get("input") if isinstance(body, dict) else None
    if not isinstance(items, list):
        return None
    readable = open_digests(items)
    if all(new is old for new, old in zip(readable, items, strict=True)):
        return None
    text = json.dumps({**body, "input": readable}, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def thread_refusal(body: JsonObject) -> Reaction | None:
    """Return the documented refusal of a request that continues one of Anthropic's message threads.

    Such a request holds only the new messages, which follow a message that the provider stores; clew does not
    see the rest. After the refusal the client sends the whole conversation.
    """
    thread = body.get("thread")
    if not isinstance(thread, dict) or thread.get("type") != "continue":
        return None
    message = f"capability_rejected: beta_header:{THREADS_BETA}: send the whole conversation without thread"
    error: JsonObject = {
        "type": "invalid_request_error",
        "message": message,
        "details": {"error_code": "thread_unsupported_request"},
    }
    return Reaction.of(_json({"type": "error", "error": error}, 400), "refused; thread")


def failure(wire: str, status: int, message: str) -> HttpAnswer:
    """Return an error of the proxy itself, in the format of the API that was called."""
    return _json(SERVER_SIDES[wire or "openai"].error(status, message, None), status)
