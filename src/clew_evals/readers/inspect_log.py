"""Inspect: the JSON log of an evaluation; every sample is a session.

``{"eval": {"task": …, "model": …}, "samples": [{"id": 1, "messages": […], "attachments": {…}}]}``
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import (
    Json,
    JsonObject,
    Message,
    Native,
    Origin,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
    trust_of,
)
from clew.transcripts.fields import Ids, mapping, objects, string, time_of
from clew.transcripts.json_document import outline
from clew.transcripts.messages import image_from_url, media_from_url, relabel
from clew.transcripts.records import Entry, Record, Start
from clew.transcripts.source import Source
from clew_evals.readers import read_list

NAME = "inspect"
_ROLES = {"assistant": Role.ASSISTANT, "system": Role.SYSTEM, "tool": Role.TOOL}
_ATTACHMENT = "attachment://"


def sniff(source: Source) -> bool:
    """Whether this says which evaluation it is the log of."""
    if source.is_directory:
        return False
    seen = outline(source)
    return {"version", "status", "eval"} <= set(seen.keys) and "task" in mapping(seen.fields, "eval")


def read(source: Source) -> Iterator[Record]:
    """Read every sample."""
    return read_list(source, "samples", "eval", "sample", _sample)


def _sample(sample: JsonObject, evaluation: JsonObject) -> Iterator[Record]:
    name = f"{sample.get('id')}/{sample.get('epoch', 1)}"
    yield Start(
        string(sample, "uuid") or name,
        NAME,
        title=f"{string(evaluation, 'task')} {name}",
        model=string(evaluation, "model"),
        time=time_of(evaluation.get("created")),
    )
    # Long content is stored once, beside the messages; older logs call the place differently.
    attached = mapping(sample, "attachments") or mapping(sample, "transcript", "content")
    ids = Ids()
    for i, item in enumerate(objects(sample.get("messages"))):
        wanted = string(item, "id")
        entry_id = ids.unique(wanted, f"#{i}")
        yield Entry(_message(item, attached), entry_id, i, model=string(item, "model"))
        yield from ids.repeated(wanted, i)


def _message(item: JsonObject, attached: JsonObject) -> Message:
    role = _ROLES.get(str(item.get("role")), Role.USER)
    parts = tuple(_parts(item.get("content"), trust_of(role), attached))
    if role is Role.TOOL:
        failure = mapping(item, "error")
        message = string(failure, "message")
        if message and not parts:
            parts = (Text(message, trust=Trust.UNTRUSTED),)
        call_id = string(item, "tool_call_id") or ""
        result = ToolResult(call_id, parts, bool(failure), string(item, "function"), trust=Trust.UNTRUSTED)
        return Message(role, (result,))
    calls = (_call(call) for call in objects(item.get("tool_calls")))
    read = Message(role, (*parts, *calls))
    return read if item.get("role") in (*_ROLES, "user") else relabel(read, Origin.INJECTED)


def _call(call: JsonObject) -> ToolCall:
    function, raw = call.get("function"), call.get("arguments")
    name = function if isinstance(function, str) else string(mapping(call, "function"), "name")
    arguments = raw if isinstance(raw, dict | str) else {}
    return ToolCall(string(call, "id") or "", name or "unknown", arguments, trust=Trust.ASSISTANT)


def _parts(content: Json, trust: Trust, attached: JsonObject) -> Iterator[Part]:
    if isinstance(content, str):
        if content:
            yield Text(_attachment_or_text(content, attached), trust=trust)
        return
    for block in objects(content):
        yield _part(block, trust, attached)


def _part(block: JsonObject, trust: Trust, attached: JsonObject) -> Part:
    kind = block.get("type")
    value = block.get(kind) if isinstance(kind, str) else None
    content = _attachment_or_text(value, attached) if isinstance(value, str) else ""
    match kind:
        case "text":
            return Text(content, trust=trust)
        case "reasoning":
            redacted = block.get("redacted") is True
            text, sealed = ("", content) if redacted else (content, string(block, "signature"))
            return Thinking(text, sealed, redacted, trust=trust)
        case "image":
            return image_from_url(content, trust)
        case "audio" | "video" | "document":
            return media_from_url(
                content, string(block, "mime_type") or f"{kind}/{block.get('format')}", trust
            )
        case _:
            return Unknown(str(kind), trust=trust, native=Native(NAME, block))


def _attachment_or_text(text: str, attached: JsonObject) -> str:
    """Return the attachment that a reference names (``attachment://9f2c``), or the text itself."""
    if not text.startswith(_ATTACHMENT):
        return text
    return string(attached, text.removeprefix(_ATTACHMENT)) or text
