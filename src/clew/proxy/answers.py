"""The response to a compaction request, in the shape that its client expects.

=====================  =========================================  ===========================================
client                 request                                    answer
=====================  =========================================  ===========================================
Claude Code, others    ``SUMMARY``: an instruction to summarise   a message: the digest in ``<summary>`` tags
of the Responses API   ``ENDPOINT``: ``/responses/compact``       user messages, then the digest, sealed
of the Responses API   ``TRIGGER``: ends in a trigger item        a response of one item: the digest, sealed
=====================  =========================================  ===========================================

The summary is clew's digest. With ``--summary upstream`` the client's model writes it: rules, goal and open
work are appended to the client's own instruction, and what the summary left out of them is put behind it,
word for word. Without a usable summary, clew's own digest is the answer. Before that, the client's model is
asked which of the user's new sentences are rules; if that fails, clew's own finder decides as without it.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from clew.errors import ModelError, ModelFailed
from clew.hosts.reminder import summary_request
from clew.message import Json, JsonObject, Role, Usage, text_message
from clew.providers.anthropic.client import AnthropicMessages
from clew.providers.api import Api
from clew.providers.model import Reply
from clew.providers.openai_chat.client import OpenaiChat
from clew.providers.openai_responses.client import OpenaiResponses
from clew.providers.server_side import SERVER_SIDES
from clew.providers.shapes import as_object
from clew.proxy.conversations import Conversations
from clew.proxy.digests import DigestWriter, WrittenDigest, complete_summary
from clew.proxy.reactor import HttpAnswer, Reaction
from clew.proxy.requests import LIST_KEYS, CompactionRequest, RequestKind
from clew.proxy.sealed import open_digests, sealed_item
from clew.proxy.stats import Stats

USER_CHARS = 80_000
"""Most characters of user messages in a compacted list, newest first: 20,000 tokens, as Codex keeps."""
_API_OF: Mapping[str, Callable[[str], Api]] = {
    "anthropic": AnthropicMessages,
    "openai": OpenaiChat,
    "responses": OpenaiResponses,
}
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
        content = entry.get("content")
        room -= len(json.dumps(content))
        if room < 0:
            break
        blocks: Json = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
        own = {"id": f"msg_{os.urandom(12).hex()}", "status": "completed"}
        kept.append({**own, **entry, "type": "message", "content": blocks})
    return kept[::-1]


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


# ``--summary upstream`` ------------------------------------------------------------------------------


def upstream_judgement(
    writer: DigestWriter, request: CompactionRequest, stats: Stats, then: Callable[[], Reaction]
) -> Reaction:
    """Return the question about rules for the client's model; ``then`` makes the reaction that follows it."""
    asked = writer.ask_about_rules(request)
    if asked is None:
        return then()
    api = _API_OF[request.wire](str(request.body.get("model")))
    body = api.body(replace(asked.ask, schema=None))  # not every upstream knows schemas

    def finish(status: int, data: bytes) -> Reaction:
        try:
            if status != 200:
                raise ModelFailed(f"the upstream answered with status {status}")
            reply: Reply | ModelError = api.reply(as_object(json.loads(data)))
        except ModelError as error:
            reply = error
        except ValueError:
            reply = ModelFailed("the upstream's answer is no JSON")
        stats.count("judge_failed" if writer.take_answer(asked, reply) else "judged")
        return then()

    return Reaction(body=json.dumps(body).encode(), label="rules; upstream", finish=finish)


def upstream_summary(request: CompactionRequest, digest: WrittenDigest, stats: Stats) -> Reaction:
    """Return the request for the client's model, and what is made of its response."""
    key = LIST_KEYS[request.wire]
    entries: list[Any] = list(request.body[key])  # type: ignore[arg-type]  # a list, or it were no compaction request
    instructions = summary_request(digest.state)
    if instructions:
        entries[-1] = _with_text(entries[-1], instructions, request.wire)
    body = {**request.body, key: entries, "stream": False}
    body.pop("stream_options", None)
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def finish(status: int, data: bytes) -> Reaction:
        written = complete_summary(digest, reply_text(data) if status == 200 else "")
        if written is None:
            stats.count("summary_failed")
            return Reaction.of(answer(request, digest), "answered; the upstream wrote no summary")
        stats.count("complemented")
        return Reaction.of(answer(request, written), "summary; upstream, complemented")

    return Reaction(body=raw, label="summary; upstream", finish=finish)


def _with_text(entry: Any, text: str, wire: str) -> JsonObject:  # noqa: ANN401  # JSON
    """Return a message of the user with one more text at its end."""
    content = entry.get("content")
    if isinstance(content, str):
        return {**entry, "content": f"{content}\n\n{text}"}
    kind = "input_text" if wire == "responses" else "text"
    return {**entry, "content": [*content, {"type": kind, "text": text}]}


def reply_text(data: bytes) -> str:
    """Return the text of a response of any of the three APIs; empty if it cannot be read."""
    try:
        value = json.loads(data)
    except ValueError:
        return ""
    if not isinstance(value, dict):
        return ""
    choices = [choice.get("message") for choice in _objects(value.get("choices"))]  # Chat Completions
    texts: list[str] = []
    for message in (*_objects(choices), *_objects(value.get("output")), value):
        content = message.get("content")
        texts += [content] if isinstance(content, str) else [_text(block) for block in _objects(content)]
    text = "\n".join(filter(None, texts))
    return _inside_summary(text)


def _inside_summary(text: str) -> str:
    """Return what stands between the outermost summary tags, behind an analysis; without tags, the text."""
    opening = re.search(r"</analysis>\s*<summary>", text) or re.search("<summary>", text)
    inside = text[opening.end() :] if opening else text
    before, closing, behind = inside.rpartition("</summary>")
    return before if closing else behind


def _objects(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # JSON
    """Return the objects of a list; none if it is not a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(block: dict[str, Any]) -> str:
    text = block.get("text") if block.get("type") in ("text", "output_text") else None
    return text if isinstance(text, str) else ""


# Before the first request ----------------------------------------------------------------------------

_WORK: tuple[tuple[str, JsonObject, str], ...] = (
    (
        "Bash",
        {"command": "pytest -q"},
        "FAILED tests/test_a.py::test_b - ValueError: bad port 8123\n1 failed",
    ),
    ("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}, "The file was updated."),
    ("TodoWrite", {"todos": [{"content": "Fix a", "status": "pending"}]}, "Todos were modified."),
)
"""Tool calls of a made-up conversation, with their results."""


def warm_up() -> None:
    """Load the modules, tables and patterns of a compaction, by compacting a made-up conversation."""
    said = "Fix the parser in src/a.py. Never modify files under legacy/. We decided to use port 8123."
    entries: list[JsonObject] = [{"role": "user", "content": said}]
    for n, (name, arguments, output) in enumerate(_WORK * 4):
        text = f"I found that the cause is in src/a.py:{n}. Next I will run the tests."
        call: JsonObject = {"type": "tool_use", "id": f"t{n}", "name": name, "input": arguments}
        result: JsonObject = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{output}\n" * 9}
        entries.append({"role": "assistant", "content": [{"type": "text", "text": text}, call]})
        entries.append({"role": "user", "content": [result]})
    request = CompactionRequest(RequestKind.SUMMARY, "anthropic", {"model": "claude-sonnet-5"}, entries)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        conversations = Conversations(Path(folder) / "clew.db")
        answer(request, DigestWriter(conversations, 400).write(request))
        conversations.close()
