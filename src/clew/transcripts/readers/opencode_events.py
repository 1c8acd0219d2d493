"""Read opencode's newer table, one row per event, into the same records."""

from __future__ import annotations

from collections.abc import Iterator

from clew.message import (
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
    said,
)
from clew.transcripts.fields import mapping, objects, string, time_of
from clew.transcripts.media import media_at
from clew.transcripts.readers.opencode_parts import NAME, Conversation, usage_of
from clew.transcripts.records import Boundary, Entry, Problem, Record
from clew.transcripts.typed import injected

_BOOKKEEPING = ("agent-switched", "model-switched")


def event_records(talk: Conversation, event: JsonObject) -> Iterator[Record]:
    """Read one row."""
    owner = string(event, "id") or "?"
    time = time_of(mapping(event, "time").get("created"))
    text = string(event, "text") or ""
    match event.get("type"):
        case "assistant":
            yield from _answer(talk, owner, event, time)
        case "user":
            files = [_file(file, Trust.USER) for file in objects(event.get("files"))]
            parts = (Text(text, trust=Trust.USER), *files)
            yield Entry(Message(Role.USER, parts), talk.entry_id(owner), time=time)
        case "system":
            yield Entry(said(Role.SYSTEM, text), talk.entry_id(owner), time=time)
        case "synthetic":
            yield Entry(injected(text), talk.entry_id(owner), time=time)
        case "shell":
            ran = f"$ {string(event, 'command')}\n{string(event, 'output') or ''}"
            yield Entry(injected(ran, Trust.UNTRUSTED), talk.entry_id(owner), time=time)
        case "compaction":
            yield Boundary(f"{owner}:compaction", time=time, trigger=string(event, "reason"))
            summary = "\n\n".join(filter(None, (string(event, "summary"), string(event, "recent"))))
            yield Entry(said(Role.USER, summary, Origin.SUMMARY), talk.entry_id(owner), time=time)
        case kind if kind in _BOOKKEEPING:
            pass
        case kind:
            yield Problem(f"a row of the unknown type {kind!r} ({owner})")


def _answer(talk: Conversation, owner: str, event: JsonObject, time: str | None) -> Iterator[Record]:
    parts: list[Part] = []
    results: list[ToolResult] = []
    hidden: list[str] = []
    for content in objects(event.get("content")):
        match content.get("type"):
            case "text":
                parts.append(Text(string(content, "text") or "", trust=Trust.ASSISTANT))
            case "reasoning":
                parts.append(Thinking(string(content, "text") or "", trust=Trust.ASSISTANT))
            case "tool":
                call, result = _tool(talk, content)
                parts.append(call)
                results += [result] if result else []
                hidden += [call.call_id] if "pruned" in mapping(content, "time") else []
            case kind:
                parts.append(Unknown(str(kind), trust=Trust.ASSISTANT, native=Native(NAME, content)))
                yield Problem(f"content of the unknown type {kind!r} ({owner}), kept unchanged")
    model, usage = string(mapping(event, "model"), "id"), usage_of(mapping(event, "tokens"))
    if parts:
        yield Entry(
            Message(Role.ASSISTANT, tuple(parts)), talk.entry_id(owner), time=time, model=model, usage=usage
        )
    if results:
        entry_id = talk.entry_id(owner, ":results")
        yield Entry(Message(Role.TOOL, tuple(results)), entry_id, time=time, hidden_results=tuple(hidden))


def _tool(talk: Conversation, tool: JsonObject) -> tuple[ToolCall, ToolResult | None]:
    state, name = mapping(tool, "state"), string(tool, "name") or "unknown"
    given = state.get("input")
    call_id = talk.call_ids.unique(string(tool, "id"), name)
    server_side = mapping(tool, "provider").get("executed") is True
    arguments = given if isinstance(given, dict | str) else {}
    call = ToolCall(call_id, name, arguments, server_side, trust=Trust.ASSISTANT)
    if state.get("status") not in ("completed", "error"):
        return call, None
    parts = [_output(content) for content in objects(state.get("content"))]
    error = string(mapping(state, "error"), "message")
    if error:
        parts.append(Text(error, trust=Trust.UNTRUSTED))
    failed = state.get("status") == "error"
    return call, ToolResult(call_id, tuple(parts), failed, name, server_side, trust=Trust.UNTRUSTED)


def _output(content: JsonObject) -> Part:
    text = string(content, "text")
    if content.get("type") == "text" and text is not None:
        return Text(text, trust=Trust.UNTRUSTED)
    return _file(content, Trust.UNTRUSTED)


def _file(file: JsonObject, trust: Trust) -> Part:
    address = string(file, "uri") or string(file, "url") or string(file, "data")
    if not address:
        return Unknown(str(file.get("type")), trust=trust, native=Native(NAME, file))
    mime = string(file, "mime") or string(file, "mediaType")
    return media_at(address, mime, trust, string(file, "name") or string(file, "filename"))
