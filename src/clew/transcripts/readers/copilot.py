"""Copilot CLI: ``~/.copilot/session-state/<session>/events.jsonl``, a log of typed events.

A line is ``{"type": "user.message", "id": …, "parentId": …, "timestamp": …, "data": {"content": "Fix it"}}``.
A compaction runs in the background from ``session.compaction_start`` to ``session.compaction_complete``: what
was said between the two is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

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
    Usage,
    trust_of,
)
from clew.transcripts.fields import Ids, count, mapping, name_of, objects, string
from clew.transcripts.jsonl import head_objects, read_objects
from clew.transcripts.messages import MACHINE_TRUST, injected_message, typed_message
from clew.transcripts.records import Boundary, Dropped, Entry, Problem, Record, Start
from clew.transcripts.source import Source

FORMAT = "copilot-cli"
_FAMILIES = ("session.", "assistant.", "user.", "tool.", "system.", "hook.", "subagent.", "skill.")
_OTHER_FAMILIES = ("permission.", "abort", "external_tool.", "command.", "elicitation.", "exit_plan_mode.")
_BOOKKEEPING = (*_FAMILIES, *_OTHER_FAMILIES)


def sniff(source: Source) -> float:
    """Recognise the log by its events: a dotted type, an id and a data object."""
    return any(map(_is_event, head_objects(source)))


def _is_event(record: JsonObject) -> bool:
    kind = record.get("type")
    return (
        isinstance(kind, str)
        and kind.startswith(_FAMILIES)
        and isinstance(record.get("data"), dict)
        and "parentId" in record
    )


def read(source: Source) -> Iterator[Record]:
    """Read a session: messages, compactions, rewinds."""
    return read_objects(source, _CopilotSession(name_of(source, ".jsonl")).event)


@dataclass(slots=True)
class _CopilotSession:
    """Reads a session event by event."""

    fallback_id: str
    started: bool = False
    model: str | None = None
    prompts: dict[str | None, int] = field(default_factory=dict)
    """A hash of the current system prompt, by agent; it is logged again before each of the user's turns."""
    prompt_id: str | None = None
    """The id of the first system prompt, which later ones replace."""
    events: dict[str, int] = field(default_factory=dict)
    """From each event of the main conversation to the number of entries and compactions after it."""
    ids: list[str] = field(default_factory=list)
    compacting_from: int | None = None
    """Where in ``ids`` a background compaction began: everything later is kept."""
    unknown: set[str] = field(default_factory=set)
    taken: Ids = field(default_factory=Ids)

    def event(self, event: JsonObject, number: int) -> Iterator[Record]:
        """Read one event."""
        data = mapping(event, "data")
        kind = string(event, "type") or ""
        if not self.started:
            self.started = True
            yield self._start(event, data if kind == "session.start" else {})
        match kind:
            case "session.model_change":
                self.model = string(data, "newModel") or self.model
            case "session.compaction_start":
                self.compacting_from = len(self.ids)
            case "session.compaction_complete" if data.get("success") is not False:
                yield from self._compaction_records(event, data, number)
            case "session.snapshot_rewind":
                yield from self._rewound(data, number)
            case "session.truncation":
                removed = count(data, "messagesRemovedDuringTruncation")
                yield Problem(
                    f"{removed} messages were cut from view here; which ones is not recorded", number
                )
            case _:
                message = _message(kind, data)
                if message is not None and not self._is_repeated_prompt(message, string(event, "agentId")):
                    yield from self._add_entry(event, data, message, number)
                elif message is None and not kind.startswith(_BOOKKEEPING) and kind not in self.unknown:
                    self.unknown.add(kind)
                    yield Problem(f"an event of the unknown type {kind!r}", number)
        event_id = string(event, "id")
        if event_id and not string(event, "agentId") and not kind.startswith("hook."):
            self.events[event_id] = len(self.ids)

    def _start(self, event: JsonObject, data: JsonObject) -> Start:
        self.model = string(data, "selectedModel")
        return Start(
            string(data, "sessionId") or self.fallback_id,
            FORMAT,
            directory=string(mapping(data, "context"), "cwd"),
            model=self.model,
            time=string(data, "startTime") or string(event, "timestamp"),
            parent_id=string(data, "parentSessionId"),
        )

    def _add_entry(
        self, event: JsonObject, data: JsonObject, message: Message, number: int
    ) -> Iterator[Record]:
        agent_id = string(event, "agentId")
        entry_id = self.taken.unique(string(event, "id"), f"L{number}")
        entry = Entry(message, entry_id, number, string(event, "timestamp"), sidechain=agent_id)
        if message.role is Role.ASSISTANT:
            model = string(data, "model") or (self.model if agent_id is None else None)
            output = count(data, "outputTokens")
            usage = Usage(count(data, "inputTokens"), output) if output else None
            entry = replace(entry, model=model, usage=usage)
        if message.role is Role.SYSTEM and agent_id is None:
            entry = replace(entry, replaces=self.prompt_id)
            self.prompt_id = self.prompt_id or entry_id
        if agent_id is None:
            self.ids.append(entry_id)
        yield entry

    def _is_repeated_prompt(self, message: Message, agent_id: str | None) -> bool:
        if message.role is not Role.SYSTEM:
            return False
        before, self.prompts[agent_id] = self.prompts.get(agent_id), hash(message.text)
        return before == self.prompts[agent_id]

    def _compaction_records(self, event: JsonObject, data: JsonObject, number: int) -> Iterator[Record]:
        """Yield the boundary of a compaction, and its summary."""
        kept = self.ids[self.compacting_from :] if self.compacting_from is not None else []
        self.compacting_from = None
        boundary_id = self.taken.unique(string(event, "id"), f"L{number}")
        time = string(event, "timestamp")
        before = count(data, "preCompactionTokens") or None
        self.ids.append(boundary_id)
        after = count(data, "postCompactionTokens") or None
        yield Boundary(boundary_id, number, time, tokens_before=before, tokens_after=after, keeps=tuple(kept))
        summary = string(data, "summaryContent")
        if summary:
            text = Text(summary, trust=trust_of(Role.USER, Origin.SUMMARY))
            entry_id = self.taken.unique(None, f"L{number}")
            self.ids.append(entry_id)
            yield Entry(Message(Role.USER, (text,), Origin.SUMMARY), entry_id, number, time)

    def _rewound(self, data: JsonObject, number: int) -> Iterator[Record]:
        """Yield a ``Dropped`` for what came after the event that the user went back to."""
        place = self.events.get(string(data, "upToEventId") or "")
        if place is None:
            yield Problem("a rewind to an event that is not in this file", number)
            return
        if self.compacting_from is not None:
            self.compacting_from = min(self.compacting_from, place)
        dropped = tuple(self.ids[place:])
        del self.ids[place:]
        if dropped:
            yield Dropped(dropped, number)


def _message(kind: str, data: JsonObject) -> Message | None:
    """Return the message of an event; None for an event without one."""
    match kind:
        case "system.message":
            text = string(data, "content")
            return Message(Role.SYSTEM, (Text(text, trust=Trust.SYSTEM),)) if text else None
        case "system.notification":
            text = string(data, "content")
            return injected_message(text) if text else None
        case "user.message":
            return _user_message(data)
        case "assistant.message":
            return _reply(data)
        case "tool.execution_complete":
            return _result(data)
        case _:
            return None


def _user_message(data: JsonObject) -> Message | None:
    """Return what the user typed with the harness's text around it, or what was inserted in their role."""
    typed, source = string(data, "content"), string(data, "source")
    if typed is None:
        return None  # an unfinished reminder; it follows as its own message
    if source is not None and source != "user":
        # Another agent's request is a model's text; skills and reminders are the harness's.
        return injected_message(typed, Trust.ASSISTANT if source.startswith("agent") else MACHINE_TRUST)
    return typed_message(string(data, "transformedContent") or typed, typed)


def _reply(data: JsonObject) -> Message | None:
    """Return the model's reply with its tool calls; None if it is empty."""
    parts: list[Part] = []
    thought, sealed = string(data, "reasoningText"), string(data, "reasoningOpaque")
    if thought or sealed:
        parts.append(Thinking(thought or "", sealed, redacted=thought is None, trust=Trust.ASSISTANT))
    if text := string(data, "content"):
        parts.append(Text(text, trust=Trust.ASSISTANT))
    for request in objects(data.get("toolRequests")):
        arguments = request.get("arguments")
        parts.append(
            ToolCall(
                string(request, "toolCallId") or "",
                string(request, "name") or "",
                arguments if isinstance(arguments, dict | str) else "",
                trust=Trust.ASSISTANT,
                native=Native(FORMAT, request),
            )
        )
    return Message(Role.ASSISTANT, tuple(parts)) if parts else None


def _result(data: JsonObject) -> Message | None:
    call_id = string(data, "toolCallId")
    if call_id is None:
        return None
    failed = data.get("success") is False
    text = string(mapping(data, "result"), "content") or string(mapping(data, "error"), "message") or ""
    result = ToolResult(call_id, (Text(text),), failed, native=Native(FORMAT, data.get("result")))
    return Message(Role.TOOL, (result,))
