"""Read the events of an OpenHands conversation into records.

A reply that calls several tools is written as one event per call; the calls are joined again. Events of
version 0.x (actions and observations, as a JSON list or the ``history`` of a line of an evaluation's output)
are converted to the events of the SDK.
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
    text_message,
    trust_of,
)
from clew.transcripts.fields import Ids, NameLimit, mapping, objects, string
from clew.transcripts.messages import image_from_url
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
class _PendingReply:
    """A reply being assembled: the calls of one response of the model."""

    response_id: str | None
    entry: Entry
    event_ids: list[str]


@dataclass(slots=True)
class OpenHandsSession:
    """Turns events into records; remembers which events each visible entry came from."""

    ids: Ids = field(default_factory=Ids)
    visible: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    """Each entry that the model sees, with the events it came from."""
    reply: _PendingReply | None = None
    allowance: NameLimit = field(default_factory=NameLimit)

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
        yield self._unique(Entry(message, event_id, line, string(event, "timestamp")), [event_id])
        yield from self.ids.repeated(event_id, line)

    def rest(self) -> Iterator[Record]:
        """Yield the reply that was being assembled."""
        reply, self.reply = self.reply, None
        if reply:
            yield self._unique(reply.entry, reply.event_ids)

    def _unique(self, entry: Entry, event_ids: list[str]) -> Entry:
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
        self.reply = _PendingReply(response_id, entry, [event_id])

    def _condensation(self, event: JsonObject, event_id: str, line: int) -> Iterator[Record]:
        """Yield the boundary of a compaction, and its summary."""
        forgotten = event.get("forgotten_event_ids")
        removed_ids = (
            {value for value in forgotten if isinstance(value, str)} if isinstance(forgotten, list) else set()
        )
        is_followed = self.allowance.covers(len(self.visible))
        visible = self.visible if is_followed else []
        self.visible = [(entry_id, events) for entry_id, events in visible if not events <= removed_ids]
        keeps = tuple(entry_id for entry_id, _ in self.visible)
        time, summary = string(event, "timestamp"), string(event, "summary")
        yield Boundary(self.ids.unique(event_id, f"#{line}"), line, time, keeps=keeps)
        if summary:
            # Later condensations refer to the summary by this id.
            summary_id = f"{event_id}-summary"
            yield self._unique(
                Entry(text_message(Role.USER, summary, Origin.SUMMARY), summary_id, line, time), [summary_id]
            )


# One event -------------------------------------------------------------------------------------------


def _message(event: JsonObject) -> Message | None:
    """Return the message of an event of the SDK; None if its kind is unknown."""
    match event.get("kind"):
        case "SystemPromptEvent":
            prompts = (event.get("system_prompt"), event.get("dynamic_context"))
            return Message(Role.SYSTEM, tuple(_texts(list(prompts), Trust.SYSTEM)))
        case "MessageEvent":
            return _event_message(event)
        case "ObservationEvent":
            return _result(event, mapping(event, "observation"))
        case "UserRejectObservation":
            reason = string(event, "rejection_reason") or ""
            return _result(event, {"content": f"Action rejected: {reason}", "is_error": True})
        case "AgentErrorEvent":
            return _result(event, {"content": string(event, "error") or "", "is_error": True})
        case _:
            return None


def _event_message(event: JsonObject) -> Message:
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
    """Parse a content field: text, or a list of texts, text blocks and image blocks."""
    for block in content if isinstance(content, list) else [content]:
        if block is None:
            continue
        fields = block if isinstance(block, dict) else {"text": block}
        text, urls = fields.get("text"), fields.get("image_urls")
        if isinstance(text, str):
            yield Text(text, trust=trust)
        elif isinstance(urls, list):
            yield from (image_from_url(url, trust) for url in urls if isinstance(url, str))
        else:
            kind = str(fields.get("type")) if fields is block else type(block).__name__
            yield Unknown(kind, trust=trust, native=Native(NAME, block))


_V0_BOOKKEEPING = frozenset(
    {
        "",
        "null",
        "change_agent_state",
        "agent_state_changed",
        "pause",
        "resume",
        "recall",
        "condensation_request",
    }
)
"""What the model never sees; a ``recall`` looks up what then follows as an observation."""
_NO_ARGUMENTS = frozenset(
    {"thought", "blocking", "hidden", "is_input", "is_static", "confirmation_state", "security_risk", "cwd"}
)
"""Arguments of an action that only the harness uses."""


def is_event(value: Json) -> bool:
    """Return True for an action or observation of version 0.x."""
    if not isinstance(value, dict) or "kind" in value or "source" not in value:
        return False
    acts = isinstance(value.get("action"), str) and isinstance(value.get("args"), dict)
    return acts or (isinstance(value.get("observation"), str) and "content" in value)


def to_current(event: JsonObject) -> JsonObject | None:
    """Return an event in the SDK's form; None for one that the model never sees."""
    common: JsonObject = {
        "id": _id(event.get("id")),
        "source": event.get("source"),
        "timestamp": event.get("timestamp"),
    }
    fields = _action(event) if isinstance(event.get("action"), str) else _observation(event)
    return {**common, **fields} if fields else None


def _id(value: Json) -> str:
    return str(value) if isinstance(value, int | str) else ""


def _action(event: JsonObject) -> JsonObject | None:
    """Return the fields of an action of version 0.x as an event of the SDK; None for bookkeeping."""
    data, action = mapping(event, "args"), str(event["action"])
    if action in _V0_BOOKKEEPING:
        return None
    if action == "system":
        return {"kind": "SystemPromptEvent", "system_prompt": {"text": data.get("content")}}
    if action == "message":
        by_agent = event.get("source") == "agent"
        return _message_event("assistant" if by_agent else "user", string(data, "content") or "", data)
    if action == "condensation":
        return {
            "kind": "Condensation",
            "forgotten_event_ids": _condensed_ids(data),
            "summary": string(data, "summary"),
        }
    if action == "finish" and not mapping(event, "tool_call_metadata"):
        return _message_event("assistant", string(data, "final_thought") or string(data, "thought") or "", {})
    return _call(event, action, data)


def _message_event(role: str, text: str, data: JsonObject) -> JsonObject:
    urls = data.get("image_urls")
    content: list[Json] = [{"type": "text", "text": text}]
    content += [{"type": "image", "image_urls": urls}] if isinstance(urls, list) and urls else []
    return {"kind": "MessageEvent", "llm_message": {"role": role, "content": content}}


def _call(event: JsonObject, action: str, data: JsonObject) -> JsonObject:
    created = mapping(event, "tool_call_metadata")
    arguments: JsonObject = {key: value for key, value in data.items() if key not in _NO_ARGUMENTS}
    if event.get("source") == "user":  # a command that the user ran
        action = f"user_{action}"
    return {
        "kind": "ActionEvent",
        "tool_name": string(created, "function_name") or action,
        "tool_call_id": string(created, "tool_call_id") or f"event-{_id(event.get('id'))}",
        "llm_response_id": string(mapping(created, "model_response"), "id"),
        "thought": string(data, "thought") or None,
        "action": arguments,
    }


def _observation(event: JsonObject) -> JsonObject | None:
    """Return the fields of an observation of version 0.x: the result of a call, or harness text."""
    output, cause = str(event["observation"]), event.get("cause")
    if output in _V0_BOOKKEEPING and output != "recall":
        return None
    text = string(event, "content") or ""
    data = mapping(event, "tool_call_metadata")
    answers = bool(data) or (isinstance(cause, int) and not isinstance(cause, bool) and output != "recall")
    if not answers:
        return {**_message_event("user", text, {}), "source": "environment"} if text else None
    return {
        "kind": "ObservationEvent",
        "tool_name": string(data, "function_name") or output,
        "tool_call_id": string(data, "tool_call_id") or f"event-{_id(cause)}",
        "observation": {"content": text, "is_error": output in ("error", "user_rejected")},
    }


def _condensed_ids(data: JsonObject) -> list[Json]:
    """Return the ids of the condensed events: a list, or a range."""
    listed = data.get("forgotten_event_ids")
    if isinstance(listed, list):
        return [_id(value) for value in listed]
    start, end = data.get("forgotten_events_start_id"), data.get("forgotten_events_end_id")
    if isinstance(start, int) and isinstance(end, int) and 0 <= end - start < 1_000_000:
        return [str(number) for number in range(start, end + 1)]
    return []


def events_of(line: JsonObject) -> list[JsonObject]:
    """Return the events of a line of an evaluation's output, flattening pairs of action and observation."""
    result: list[JsonObject] = []
    history = line.get("history")
    for value in history if isinstance(history, list) else ():
        result += objects(value) if isinstance(value, list) else objects([value])
    return [data for data in result if is_event(data)]
