"""Turn log events into trace records named by OpenTelemetry's GenAI conventions, and into JSON lines.

``SpanBuilder`` has one method per kind of event (``_HANDLERS``). A compaction, for example, becomes a span
``compact_messages`` with the attributes ``compaction.tokens_before``, ``compaction.trigger`` and so on, and
the call of its summariser a span ``chat MODEL`` inside it. An event's time in the log is when it ended. A
request to a model or a compaction began at the earliest when the event before it was recorded, so that is
used as its start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeAlias

from clew.log.fold import (
    APPROVAL,
    CALL,
    COMPACTION,
    INSTRUCTION,
    KINDS,
    MEMORY_FILE,
    MESSAGE,
    NOTE,
    PROGRESS,
    REFUSAL,
    SWITCH,
    TOKEN_BUDGET,
    UNDO,
)
from clew.log.protocol import StoredEvent
from clew.message import JsonObject, Message, ToolResult
from clew.session.history import read_compaction

Value: TypeAlias = str | int | float | bool | list[str]
"""The value of an attribute."""
Attributes: TypeAlias = Mapping[str, Value]
NOTHING: Attributes = MappingProxyType({})


class Scale(StrEnum):
    """Whether a record is a point in time or a span."""

    POINT = "point"
    SPAN = "span"
    REQUEST = "request"
    """A span that calls another service: a model."""


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One trace record: a point in time or a span."""

    id: str
    """Unique in its session, and the same each time the log is read."""
    seq: int
    """Its position in the log."""
    name: str
    scale: Scale
    start: str
    """ISO 8601, UTC."""
    end: str
    attributes: Attributes = field(default_factory=dict)
    parent: str = ""
    """The id of the enclosing record; empty for the session itself."""
    error: str = ""
    """The kind of failure it ended in; empty if it succeeded."""

    @property
    def seconds(self) -> float:
        """Return how long it took, as far as the log shows."""
        return (datetime.fromisoformat(self.end) - datetime.fromisoformat(self.start)).total_seconds()


PROVIDERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-chat": "openai",
    "responses": "openai",
    "gemini": "gcp.gemini",
}
"""The conventions' provider name of each wire format."""


def size(message: Message) -> dict[str, Value]:
    """Return the attributes of a message, without its text."""
    return {
        "clew.message.role": message.role.value,
        "clew.message.origin": message.origin.value,
        "clew.message.parts": [type(part).__name__ for part in message.parts],
        "clew.message.characters": len(message.text),
    }


def request_attributes(name: str, model: str) -> dict[str, Value]:
    """Return the attributes of a request: operation, provider and model."""
    return {"gen_ai.operation.name": "chat", "gen_ai.provider.name": name, "gen_ai.request.model": model}


def usage(counted: Any) -> dict[str, Value]:  # noqa: ANN401 - JSON enters here
    """Return the token usage of a request; input tokens include those read from the cache."""
    names = {
        "input_tokens": "gen_ai.usage.input_tokens",
        "output_tokens": "gen_ai.usage.output_tokens",
        "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
        "cache_write_tokens": "gen_ai.usage.cache_write.input_tokens",
    }
    return {name: int(counted.get(key, 0)) for key, name in names.items()}


def model_of(by: str) -> str:
    """Return a model's own name from its full one, which may name a server: ``openai-chat/qwen@http://…``."""
    return (by.partition("/")[2] or by).partition("@")[0] or "unknown"


def provider(by: str, wire: str) -> str:
    """Return the conventions' name of a model's provider, by its full name or its wire format."""
    name = by.partition("/")[0] if "/" in by else wire or by
    return PROVIDERS.get(name, name or "unknown")


_NOTE_DOES = {
    "add": "create_memory",
    "approve": "update_memory",
    "reject": "delete_memory",
    "forget": "delete_memory",
    "show": "search_memory",
}
"""The operation's name for each change of a note."""
_FILE_DOES = {"create": "create_memory", "delete": "delete_memory", "clear": "delete_memory"}
"""The same for memory files."""


@dataclass(slots=True)
class _PendingCall:
    """A tool call that waits for its result."""

    name: str
    start: str


@dataclass(slots=True)
class SpanBuilder:
    """Builds the trace records of one session, event by event."""

    session: str
    _last: str = ""
    """When the previous event was recorded."""
    _calls: dict[str, _PendingCall] = field(default_factory=dict)
    _in_force: list[int] = field(default_factory=list)
    """The compactions that shape the view."""
    _off: bool = False

    def add(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        """Yield the trace records of an event."""
        kind = KINDS.get(stored.event.kind)
        current = kind.current(stored) if kind else stored
        handler = _HANDLERS.get(stored.event.kind)
        yield from handler(self, current) if handler else (self._point(current, f"clew.{stored.event.kind}"),)
        self._last = stored.event.time

    # Records ---------------------------------------------------------------------------------------------

    def _point(self, stored: StoredEvent, name: str, attributes: Attributes = NOTHING) -> TraceRecord:
        return self._record(stored, name, Scale.POINT, stored.event.time, attributes)

    def _record(
        self,
        stored: StoredEvent,
        name: str,
        scale: Scale,
        start: str,
        attributes: Attributes,
        error: str = "",
    ) -> TraceRecord:
        time = stored.event.time
        return TraceRecord(
            id=stored.event.id,
            seq=stored.seq,
            name=name,
            scale=scale,
            start=min(start or time, time),
            end=time,
            attributes={"gen_ai.conversation.id": self.session, **attributes},
            error=error,
        )

    # Kinds of events -------------------------------------------------------------------------------------

    def _message(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        (message,) = MESSAGE.messages(stored.event.body)
        yield self._point(stored, "clew.message", size(message))
        for call in message.calls:
            self._calls[call.call_id] = _PendingCall(call.name, stored.event.time)
        for nth, result in enumerate(message.results):
            yield self._tool(stored, nth, result)

    def _tool(self, stored: StoredEvent, nth: int, result: ToolResult) -> TraceRecord:
        waited = self._calls.pop(result.call_id, None)
        name = waited.name if waited else result.name or "unknown"
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": result.call_id,
            "clew.result.characters": len(result.text),
        }
        error = "tool_error" if result.is_error else ""
        start = waited.start if waited else stored.event.time
        record = self._record(stored, f"execute_tool {name}", Scale.SPAN, start, attributes, error)
        return replace(record, id=f"{record.id}.{nth}")

    def _call(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        body: dict[str, Any] = stored.event.body
        by = str(body.get("by") or "")
        model = str(body.get("model") or model_of(by))
        attributes = {
            **request_attributes(provider(by, str(body.get("wire", ""))), model),
            **usage(body.get("usage") or {}),
        }
        if self._in_force and not self._off:
            attributes["gen_ai.conversation.compacted"] = True
        cache = body.get("cache") or {}
        if cache.get("cause"):
            attributes["clew.cache.cause"] = str(cache["cause"])
            attributes["clew.cache.missed_tokens"] = int(cache.get("missed", 0))
        yield self._record(stored, f"chat {model}", Scale.REQUEST, self._last, attributes)

    def _compaction(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        compaction = read_compaction(stored)
        plan, digest = compaction.plan, compaction.digest
        self._in_force.append(stored.seq)
        attributes: dict[str, Value] = {
            "compaction.strategy": ",".join(step.rung.value for step in plan.freed),
            "compaction.tokens_before": plan.tokens_before,
            "compaction.tokens_after": plan.tokens_after,
            "compaction.trigger": plan.trigger,
            "compaction.success": True,
            "clew.compaction.target_tokens": plan.target_tokens,
            "clew.compaction.reason": plan.reason,
            "clew.compaction.operations": len(plan.operations),
        }
        if digest:
            attributes["clew.compaction.digest"] = digest.id
            attributes["clew.compaction.author"] = digest.author
            attributes["clew.compaction.messages"] = len(digest.covers)
        span = self._record(stored, "compact_messages", Scale.SPAN, self._last, attributes)
        if compaction.calls and digest:
            call = self._summary_call(stored, compaction.asked)
            yield replace(call, id=f"{call.id}.0", parent=span.id)
        yield span

    def _summary_call(self, stored: StoredEvent, author: str) -> TraceRecord:
        model = model_of(author)
        attributes = {
            **request_attributes(provider(author, ""), model),
            **usage(stored.event.body["usage"]),
            "clew.purpose": "summarise",
        }
        return self._record(stored, f"chat {model}", Scale.REQUEST, self._last, attributes)

    def _refusal(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        body = stored.event.body
        attributes: dict[str, Value] = {
            "compaction.trigger": str(body.get("trigger", "")),
            "compaction.success": False,
            "clew.compaction.reason": str(body.get("reason", "")),
        }
        yield self._record(stored, "compact_messages", Scale.SPAN, self._last, attributes, "refused")

    def _undo(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        since = stored.event.body.get("compaction")
        kept = self._in_force
        if isinstance(since, int) and since in kept:  # a second undo of one compaction changes nothing
            kept = [seq for seq in kept if seq < since]
        undone, self._in_force = len(self._in_force) - len(kept), kept
        yield self._point(stored, "clew.undo", {"clew.undo.compactions": undone})

    def _switch(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        self._off = stored.event.body.get("off") is True
        yield self._point(stored, "clew.switch", {"clew.switch.off": self._off})

    def _budget(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        body: dict[str, Any] = stored.event.body
        window, used = int(body.get("window_tokens", 0)), _sent_tokens(body)
        before: dict[str, Any] = body.get("before") or {}
        verdict = before.get("verdict") or body.get("verdict") or {}
        yield self._point(
            stored,
            "report_context_usage.measured",
            {
                "used_tokens": used,
                "window_tokens": window,
                "fraction": round(used / window, 4) if window else 0.0,
                **({"clew.budget.used_tokens_before": _sent_tokens(before)} if before else {}),
                "clew.budget.verdict": str(verdict.get("is", "")),
                **{f"clew.budget.{item['region']}": int(item["given"]) for item in body.get("slices", ())},
            },
        )

    def _note(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        body: dict[str, Any] = stored.event.body
        operation = _NOTE_DOES.get(str(body.get("does")), "update_memory")
        shown = body.get("notes")
        record = body.get("note") or f"{str(body.get('scope', 'n'))[0]}{stored.seq}"
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": operation,
            "gen_ai.memory.store.id": self.session,
            "gen_ai.memory.record.count": len(shown) if isinstance(shown, dict) else 1,
        }
        if not isinstance(shown, dict):
            attributes["gen_ai.memory.record.id"] = str(record)
        yield self._record(stored, operation, Scale.SPAN, stored.event.time, attributes)

    def _memory_file(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        body = stored.event.body
        operation = _FILE_DOES.get(str(body.get("does")), "update_memory")
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": operation,
            "gen_ai.memory.store.id": self.session,
            "gen_ai.memory.record.id": str(body.get("path", "")),
        }
        yield self._record(stored, operation, Scale.SPAN, stored.event.time, attributes)

    def _approval(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        body = stored.event.body
        attributes: dict[str, Value] = {
            "gen_ai.tool.name": str(body.get("tool", "")),
            "clew.approval.answer": str(body.get("answer", "")),
        }
        yield self._point(stored, "clew.approval", attributes)

    def _instruction(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        body = stored.event.body
        keys = [key for key in ("id", "hash", "does") if body.get(key)]
        attributes: dict[str, Value] = {f"clew.instruction.{key}": str(body[key]) for key in keys}
        yield self._point(stored, "clew.instruction", attributes)

    def _progress(self, stored: StoredEvent) -> Iterator[TraceRecord]:
        body = stored.event.body
        attributes: dict[str, Value] = {
            "clew.progress.checkpoint": str(body.get("name", "")),
            "clew.progress.why": str(body.get("why", "")),
        }
        yield self._point(stored, "clew.progress", attributes)


_HANDLERS: Mapping[str, Callable[[SpanBuilder, StoredEvent], Iterator[TraceRecord]]] = {
    MESSAGE.name: SpanBuilder._message,
    CALL.name: SpanBuilder._call,
    COMPACTION.name: SpanBuilder._compaction,
    REFUSAL.name: SpanBuilder._refusal,
    UNDO.name: SpanBuilder._undo,
    SWITCH.name: SpanBuilder._switch,
    TOKEN_BUDGET.name: SpanBuilder._budget,
    NOTE.name: SpanBuilder._note,
    MEMORY_FILE.name: SpanBuilder._memory_file,
    APPROVAL.name: SpanBuilder._approval,
    INSTRUCTION.name: SpanBuilder._instruction,
    PROGRESS.name: SpanBuilder._progress,
}


def _sent_tokens(budget: Mapping[str, Any]) -> int:
    """Return the tokens of a recorded budget."""
    return sum(int(item["given"]) for item in budget.get("slices", ()))


def trace_records(session: str, events: Iterable[StoredEvent]) -> Iterator[TraceRecord]:
    """Yield the trace records in the order of the log; a span comes at its end."""
    builder = SpanBuilder(session)
    for stored in events:
        yield from builder.add(stored)


def lines(session: str, events: Iterable[StoredEvent]) -> Iterator[str]:
    """Yield one JSON object a line for every record, in the order of the log."""
    for record in trace_records(session, events):
        yield json.dumps(_as_json(record), ensure_ascii=False, separators=(",", ":"))


def _as_json(record: TraceRecord) -> JsonObject:
    data: JsonObject = {"time": record.end, "seq": record.seq, "id": record.id, "name": record.name}
    if record.parent:
        data["parent"] = record.parent
    if record.scale is not Scale.POINT:
        data |= {"start": record.start, "seconds": round(record.seconds, 3)}
    if record.error:
        data["error"] = record.error
    attributes: JsonObject = {
        name: list(value) if isinstance(value, list) else value for name, value in record.attributes.items()
    }
    return {**data, "attributes": attributes}
