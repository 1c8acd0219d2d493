"""Read the events of an OpenHands conversation into records.

A reply that calls several tools is written as one event per call; the calls are joined again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

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
    said,
    trust_of,
)
from clew.transcripts.fields import Ids, mapping, objects, string
from clew.transcripts.media import image_at
from clew.transcripts.records import Boundary, Entry, Problem, Record

NAME = "openhands"
_BOOKKEEPING = (
    "ConversationStateUpdateEvent",
    "CondensationRequest",
    "PauseEvent",
    "InterruptEvent",
    "LLMCompletionLogEvent",
    "TokenEvent",
    "StreamingDeltaEvent",
    "ConversationErrorEvent",
    "ServerErrorEvent",
    "HookExecutionEvent",
)


@dataclass(slots=True)
class _Reply:
    """A reply being assembled: the calls of one response of the model."""

    response_id: str | None
    entry: Entry
    event_ids: list[str]


@dataclass(slots=True)
class Conversation:
    """Turns events into records; remembers which events each visible entry came from."""

    ids: Ids = field(default_factory=Ids)
    visible: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    reply: _Reply | None = None

    def event(self, event: JsonObject, line: int) -> Iterator[Record]:
        """Read one event."""
        kind, event_id = event.get("kind"), string(event, "id") or f"#{line}"
        if kind in _BOOKKEEPING:
            return
        if kind == "ActionEvent":
            yield from self._call(event, event_id, line)
            return
        yield from self.rest()
        if kind == "Condensation":
            yield from self._condensation(event, event_id, line)
            return
        message = _message(event)
        if message is None:
            yield Problem(f"an event of the unknown kind {kind!r}", line)
            return
        yield self._seen(Entry(message, event_id, line, string(event, "timestamp")), [event_id])
        yield from self.ids.repeated(event_id, line)

    def rest(self) -> Iterator[Record]:
        """Yield the reply that was being assembled."""
        reply, self.reply = self.reply, None
        if reply:
            yield self._seen(reply.entry, reply.event_ids)

    def _seen(self, entry: Entry, event_ids: list[str]) -> Entry:
        unique = replace(entry, id=self.ids.unique(entry.id, entry.id))
        self.visible.append((unique.id, frozenset(event_ids)))
        return unique

    def _call(self, event: JsonObject, event_id: str, line: int) -> Iterator[Record]:
        response_id = string(event, "llm_response_id")
        call = _tool_call(event)
        if self.reply and response_id and self.reply.response_id == response_id:
            joined = replace(self.reply.entry.message, parts=(*self.reply.entry.message.parts, call))
            self.reply.entry = replace(self.reply.entry, message=joined)
            self.reply.event_ids.append(event_id)
            return
        yield from self.rest()
        message = Message(
            Role.ASSISTANT, (*_thoughts(event), *_texts(event.get("thought"), Trust.ASSISTANT), call)
        )
        entry = Entry(message, event_id, line, string(event, "timestamp"))
        self.reply = _Reply(response_id, entry, [event_id])

    def _condensation(self, event: JsonObject, event_id: str, line: int) -> Iterator[Record]:
        forgotten = event.get("forgotten_event_ids")
        gone = set(filter(_is_text, forgotten)) if isinstance(forgotten, list) else set()
        self.visible = [(entry_id, events) for entry_id, events in self.visible if not events <= gone]
        keeps = tuple(entry_id for entry_id, _ in self.visible)
        time, summary = string(event, "timestamp"), string(event, "summary")
        yield Boundary(self.ids.unique(event_id, f"#{line}"), line, time, keeps=keeps)
        if summary:
            # Later condensations refer to the summary by this id.
            summary_id = f"{event_id}-summary"
            yield self._seen(
                Entry(said(Role.USER, summary, Origin.SUMMARY), summary_id, line, time), [summary_id]
            )


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


# One event -------------------------------------------------------------------------------------------


def _message(event: JsonObject) -> Message | None:
    match event.get("kind"):
        case "SystemPromptEvent":
            prompts = (event.get("system_prompt"), event.get("dynamic_context"))
            return Message(Role.SYSTEM, tuple(_texts(list(prompts), Trust.SYSTEM)))
        case "MessageEvent":
            return _spoken(event)
        case "ObservationEvent":
            return _result(event, mapping(event, "observation"))
        case "UserRejectObservation":
            reason = string(event, "rejection_reason") or ""
            return _result(event, {"content": f"Action rejected: {reason}", "is_error": True})
        case "AgentErrorEvent":
            return _result(event, {"content": string(event, "error") or "", "is_error": True})
        case _:
            return None


def _spoken(event: JsonObject) -> Message:
    words = mapping(event, "llm_message")
    role = Role.ASSISTANT if words.get("role") == "assistant" else Role.USER
    origin = Origin.INJECTED if event.get("source") in ("environment", "hook") else Origin.SPOKEN
    trust = trust_of(role, origin)
    added = _texts(event.get("extended_content"), Trust.SEMI_TRUSTED)
    parts = (*_thoughts(words), *_texts(words.get("content"), trust), *added)
    return Message(role, parts, origin)


def _thoughts(holder: JsonObject) -> Iterator[Part]:
    """Yield the reasoning: signed blocks if there are any, else a sealed item, else its text."""
    blocks = [_thinking_block(block) for block in objects(holder.get("thinking_blocks"))]
    item, text = mapping(holder, "responses_reasoning_item"), string(holder, "reasoning_content")
    if blocks:
        yield from blocks
    elif item:
        summary = item.get("summary")
        shown = "\n".join(str(line) for line in summary) if isinstance(summary, list) else ""
        sealed = string(item, "encrypted_content")
        yield Thinking(text or shown, sealed, item_id=string(item, "id"), trust=Trust.ASSISTANT)
    elif text:
        yield Thinking(text, trust=Trust.ASSISTANT)


def _thinking_block(block: JsonObject) -> Thinking:
    if block.get("type") == "redacted_thinking":
        return Thinking("", string(block, "data"), redacted=True, trust=Trust.ASSISTANT)
    return Thinking(string(block, "thinking") or "", string(block, "signature"), trust=Trust.ASSISTANT)


def _tool_call(event: JsonObject) -> ToolCall:
    call = mapping(event, "tool_call")
    call_id = string(event, "tool_call_id") or string(call, "id") or ""
    name = string(event, "tool_name") or string(call, "name") or "unknown"
    arguments = string(call, "arguments") or string(mapping(call, "function"), "arguments")
    return ToolCall(call_id, name, arguments or mapping(event, "action"), trust=Trust.ASSISTANT)


def _result(event: JsonObject, observation: JsonObject) -> Message:
    content = observation.get("content")
    if content is None:
        content = observation.get("output")
    added = _texts(event.get("extended_content"), Trust.SEMI_TRUSTED)
    parts = (*_texts(content, Trust.UNTRUSTED), *added)
    failed = observation.get("is_error") is True
    call_id, name = string(event, "tool_call_id") or "", string(event, "tool_name")
    return Message(Role.TOOL, (ToolResult(call_id, parts, failed, name, trust=Trust.UNTRUSTED),))


def _texts(content: Json, trust: Trust) -> Iterator[Part]:
    """Parse a content field: text, or a list of text and image blocks."""
    if isinstance(content, str):
        yield Text(content, trust=trust)
        return
    for block in objects(content if isinstance(content, list) else [content]):
        text, urls = block.get("text"), block.get("image_urls")
        if isinstance(text, str):
            yield Text(text, trust=trust)
        elif isinstance(urls, list):
            yield from (image_at(url, trust) for url in urls if isinstance(url, str))
        else:
            yield Unknown(str(block.get("type")), trust=trust, native=Native(NAME, block))
