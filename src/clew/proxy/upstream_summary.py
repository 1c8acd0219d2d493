"""``--summary upstream``: the client's model writes the summary; clew instructs, checks and complements it.

Rules, goal and open work are appended to the client's own instruction. What the summary left out of them is
put behind it, word for word. Without a usable summary, clew's own digest is the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from clew.hosts.reminder import summary_request
from clew.message import JsonObject
from clew.proxy.answers import answer
from clew.proxy.digests import WrittenDigest, complete_summary
from clew.proxy.reaction import Reaction
from clew.proxy.requests import LIST_KEYS, CompactionRequest
from clew.proxy.stats import Stats


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
    return Reaction(body=raw, label="summary; upstream", finish=_finisher(request, digest, stats))


def _finisher(
    request: CompactionRequest, digest: WrittenDigest, stats: Stats
) -> Callable[[int, bytes], Reaction]:
    def finish(status: int, data: bytes) -> Reaction:
        written = complete_summary(digest, reply_text(data) if status == 200 else "")
        if written is None:
            stats.count("summary_failed")
            return Reaction.of(answer(request, digest), "answered; the upstream wrote no summary")
        stats.count("complemented")
        return Reaction.of(answer(request, written), "summary; upstream, complemented")

    return finish


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
    return text.rpartition("<summary>")[2].partition("</summary>")[0]


def _objects(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # JSON
    """Return the objects of a list; none if it is not a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(block: dict[str, Any]) -> str:
    text = block.get("text") if block.get("type") in ("text", "output_text") else None
    return text if isinstance(text, str) else ""
