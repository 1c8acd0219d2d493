"""Read the events of an OpenHands conversation into records.

A reply that calls several tools is written as one event per call; the calls are joined again. A
``Condensation`` removes events from what the model sees (``forgotten_event_ids``) and puts a summary behind
the first ``summary_offset`` of those that are left: of ``system, 1, 2, 3, 4`` without 2 and 3, and with the
summary at 2, it leaves ``system, 1, summary, 4``. Events of version 0.x are converted to these first
(``openhands``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, takewhile

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
    *("ConversationStateUpdateEvent", "CondensationRequest", "PauseEvent", "InterruptEvent"),
    *("LLMCompletionLogEvent", "TokenEvent", "StreamingDeltaEvent", "ConversationErrorEvent"),
    *("ServerErrorEvent", "HookExecutionEvent"),
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
    """Each entry that the model sees, in order, with the events it came from."""
    reply: _PendingReply | None = None
    """The reply whose calls are still being joined."""
    allowance: NameLimit = field(default_factory=NameLimit)
    """Limits the ids that all compactions together list: what each left in view is copied."""

    def event(self, event: JsonObject, line: int) -> Iterator[Record]:
        """Read one event."""
        kind, event_id = event.get("kind"), string(event, "id") or f"#{line}"
        if kind in _BOOKKEEPING:
            return  # before the reply ends: it may be written between two calls of one reply
        if kind == "ActionEvent":
            yield from self._add_call(event, event_id, line)
            return
        yield from self.rest()
        if kind == "Condensation":
            yield from self._condensation(event, event_id, line)
            return
        message = _message(event)
        if message is None:
            yield Problem(f"an event of the unknown kind {kind!r}", line)
            return
        yield self._add_visible(Entry(message, event_id, line, string(event, "timestamp")), [event_id])
        yield from self.ids.repeated(event_id, line)

    def rest(self) -> Iterator[Record]:
        """Yield the reply that was being assembled."""
        reply, self.reply = self.reply, None
        if reply:
            yield self._add_visible(reply.entry, reply.event_ids)

    def _add_visible(self, entry: Entry, event_ids: list[str], place: int | None = None) -> Entry:
        """Return an entry with a unique id, and note that the model sees it: last, or at this place."""
        unique = replace(entry, id=self.ids.unique(entry.id, entry.id))
        self.visible.insert(len(self.visible) if place is None else place, (unique.id, frozenset(event_ids)))
        return unique

    def _add_call(self, event: JsonObject, event_id: str, line: int) -> Iterator[Record]:
        """Add a call to the reply that it belongs to, or begin one."""
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
        visible = self.visible
        if not self.allowance.covers(len(visible)):
            yield Problem("too many compactions to follow: what this one left in view is not known", line)
            visible = []
        self.visible = [
            (entry_id, events if events.isdisjoint(removed_ids) else events - removed_ids)
            for entry_id, events in visible
            if not events <= removed_ids
        ]
        keeps = tuple(entry_id for entry_id, _ in self.visible)
        place = self._place_after(event.get("summary_offset"))
        time, summary = string(event, "timestamp"), string(event, "summary")
        boundary_id = self.ids.unique(event_id, f"#{line}")
        yield Boundary(boundary_id, line, time, keeps=keeps, kept_first=place if summary else 0)
        if summary:
            # Later condensations refer to the summary by this id.
            summary_id = f"{event_id}-summary"
            message = text_message(Role.USER, summary, Origin.SUMMARY)
            yield self._add_visible(Entry(message, summary_id, line, time), [summary_id], place)

    def _place_after(self, events: Json) -> int:
        """Return how many visible entries lie whole within the first so many events that the model sees.

        A condensation counts events from the start of the view, with the system prompt. Without a number, the
        summary is put at the start.
        """
        if not isinstance(events, int):
            return 0
        ends = accumulate(len(from_events) for _, from_events in self.visible)
        return sum(1 for _ in takewhile(lambda end: end <= events, ends))


# One event -------------------------------------------------------------------------------------------


def _message(event: JsonObject) -> Message | None:
    """Return the message of an event of the SDK; None if its kind is unknown."""
    match event.get("kind"):
        case "SystemPromptEvent":
            prompts = (event.get("system_prompt"), event.get("dynamic_context"))
            return Message(Role.SYSTEM, tuple(_texts(list(prompts), Trust.SYSTEM)))
        case "MessageEvent":
            return _spoken_message(event)
        case "ObservationEvent":
            return _result(event, mapping(event, "observation"))
        case "UserRejectObservation":
            reason = string(event, "rejection_reason") or ""
            return _result(event, {"content": f"Action rejected: {reason}", "is_error": True})
        case "AgentErrorEvent":
            return _result(event, {"content": string(event, "error") or "", "is_error": True})
        case _:
            return None


def _spoken_message(event: JsonObject) -> Message:
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
