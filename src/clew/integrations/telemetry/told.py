"""Turn each kind of log event into trace records named by OpenTelemetry's GenAI conventions.

An event's time in the log is when it ended. A request to a model or a compaction began at the earliest when
the event before it was recorded, so that is used as its start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clew.integrations.telemetry.moments import NOTHING, Attributes, Moment, Scale, Value
from clew.integrations.telemetry.names import asked, model_of, provider, size, usage
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
from clew.message import ToolResult
from clew.session.history import read_compaction

_NOTE_DOES = {
    "add": "create_memory",
    "approve": "update_memory",
    "reject": "delete_memory",
    "forget": "delete_memory",
    "show": "search_memory",
}
_FILE_DOES = {"create": "create_memory", "delete": "delete_memory", "clear": "delete_memory"}


@dataclass(slots=True)
class _Waiting:
    """A tool call that waits for its result."""

    name: str
    start: str


@dataclass(slots=True)
class Teller:
    """Builds the trace records of one session, event by event."""

    session: str
    _last: str = ""
    """When the previous event was recorded."""
    _calls: dict[str, _Waiting] = field(default_factory=dict)
    _in_force: list[int] = field(default_factory=list)
    """The compactions that shape the view."""
    _off: bool = False

    def tell(self, stored: StoredEvent) -> Iterator[Moment]:
        """Yield the trace records of an event."""
        kind = KINDS.get(stored.event.kind)
        current = kind.current(stored) if kind else stored
        tell = _TELLS.get(stored.event.kind)
        yield from tell(self, current) if tell else (self._point(current, f"clew.{stored.event.kind}"),)
        self._last = stored.event.time

    # Records ---------------------------------------------------------------------------------------------

    def _point(self, stored: StoredEvent, name: str, attributes: Attributes = NOTHING) -> Moment:
        return self._moment(stored, name, Scale.POINT, stored.event.time, attributes)

    def _moment(
        self,
        stored: StoredEvent,
        name: str,
        scale: Scale,
        start: str,
        attributes: Attributes,
        error: str = "",
    ) -> Moment:
        common: dict[str, Value] = {"gen_ai.conversation.id": self.session}
        time = stored.event.time
        return Moment(
            stored.event.id,
            stored.seq,
            name,
            scale,
            min(start or time, time),
            time,
            {**common, **attributes},
            "",
            error,
        )

    # Kinds of events -------------------------------------------------------------------------------------

    def _message(self, stored: StoredEvent) -> Iterator[Moment]:
        (message,) = MESSAGE.messages(stored.event.body)
        yield self._point(stored, "clew.message", size(message))
        for call in message.calls:
            self._calls[call.call_id] = _Waiting(call.name, stored.event.time)
        for nth, result in enumerate(message.results):
            yield self._tool(stored, nth, result)

    def _tool(self, stored: StoredEvent, nth: int, result: ToolResult) -> Moment:
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
        made = self._moment(stored, f"execute_tool {name}", Scale.SPAN, start, attributes, error)
        return _renamed(made, f"{made.id}.{nth}")

    def _call(self, stored: StoredEvent) -> Iterator[Moment]:
        body: dict[str, Any] = stored.event.body
        by = str(body.get("by") or "")
        model = str(body.get("model") or model_of(by))
        attributes = {
            **asked(provider(by, str(body.get("wire", ""))), model),
            **usage(body.get("usage") or {}),
        }
        if self._in_force and not self._off:
            attributes["gen_ai.conversation.compacted"] = True
        cache = body.get("cache") or {}
        if cache.get("cause"):
            attributes["clew.cache.cause"] = str(cache["cause"])
            attributes["clew.cache.missed_tokens"] = int(cache.get("missed", 0))
        yield self._moment(stored, f"chat {model}", Scale.REQUEST, self._last, attributes)

    def _compaction(self, stored: StoredEvent) -> Iterator[Moment]:
        done = read_compaction(stored)
        plan, digest = done.plan, done.digest
        self._in_force.append(stored.seq)
        attributes: dict[str, Value] = {
            "compaction.strategy": ",".join(one.rung.value for one in plan.freed),
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
        whole = self._moment(stored, "compact_messages", Scale.SPAN, self._last, attributes)
        if done.calls and digest:
            yield _part_of(whole, self._summary_call(stored, digest.author))
        yield whole

    def _summary_call(self, stored: StoredEvent, author: str) -> Moment:
        model = model_of(author)
        attributes = {
            **asked(provider(author, ""), model),
            **usage(stored.event.body["usage"]),
            "clew.purpose": "summarise",
        }
        return self._moment(stored, f"chat {model}", Scale.REQUEST, self._last, attributes)

    def _refusal(self, stored: StoredEvent) -> Iterator[Moment]:
        body = stored.event.body
        attributes: dict[str, Value] = {
            "compaction.trigger": str(body.get("trigger", "")),
            "compaction.success": False,
            "clew.compaction.reason": str(body.get("reason", "")),
        }
        yield self._moment(stored, "compact_messages", Scale.SPAN, self._last, attributes, "refused")

    def _undo(self, stored: StoredEvent) -> Iterator[Moment]:
        since = stored.event.body.get("compaction")
        kept = self._in_force
        if isinstance(since, int) and since in kept:  # a second undo of one compaction changes nothing
            kept = [seq for seq in kept if seq < since]
        undone, self._in_force = len(self._in_force) - len(kept), kept
        yield self._point(stored, "clew.undo", {"clew.undo.compactions": undone})

    def _switch(self, stored: StoredEvent) -> Iterator[Moment]:
        self._off = stored.event.body.get("off") is True
        yield self._point(stored, "clew.switch", {"clew.switch.off": self._off})

    def _budget(self, stored: StoredEvent) -> Iterator[Moment]:
        body: dict[str, Any] = stored.event.body
        window, used = int(body.get("window_tokens", 0)), sum(one["given"] for one in body.get("slices", ()))
        verdict = body.get("verdict") or {}
        yield self._point(
            stored,
            "report_context_usage.measured",
            {
                "used_tokens": used,
                "window_tokens": window,
                "fraction": round(used / window, 4) if window else 0.0,
                "clew.budget.verdict": str(verdict.get("is", "")),
                **{f"clew.budget.{one['region']}": int(one["given"]) for one in body.get("slices", ())},
            },
        )

    def _note(self, stored: StoredEvent) -> Iterator[Moment]:
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
        yield self._moment(stored, operation, Scale.SPAN, stored.event.time, attributes)

    def _memory_file(self, stored: StoredEvent) -> Iterator[Moment]:
        body = stored.event.body
        operation = _FILE_DOES.get(str(body.get("does")), "update_memory")
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": operation,
            "gen_ai.memory.store.id": self.session,
            "gen_ai.memory.record.id": str(body.get("path", "")),
        }
        yield self._moment(stored, operation, Scale.SPAN, stored.event.time, attributes)

    def _approval(self, stored: StoredEvent) -> Iterator[Moment]:
        body = stored.event.body
        attributes: dict[str, Value] = {
            "gen_ai.tool.name": str(body.get("tool", "")),
            "clew.approval.answer": str(body.get("answer", "")),
        }
        yield self._point(stored, "clew.approval", attributes)

    def _instruction(self, stored: StoredEvent) -> Iterator[Moment]:
        body = stored.event.body
        named = {key: str(body[key]) for key in ("id", "hash", "does") if body.get(key)}
        yield self._point(
            stored, "clew.instruction", {f"clew.instruction.{key}": named[key] for key in named}
        )

    def _progress(self, stored: StoredEvent) -> Iterator[Moment]:
        body = stored.event.body
        attributes: dict[str, Value] = {
            "clew.progress.checkpoint": str(body.get("name", "")),
            "clew.progress.why": str(body.get("why", "")),
        }
        yield self._point(stored, "clew.progress", attributes)


_TELLS: Mapping[str, Callable[[Teller, StoredEvent], Iterator[Moment]]] = {
    MESSAGE.name: Teller._message,
    CALL.name: Teller._call,
    COMPACTION.name: Teller._compaction,
    REFUSAL.name: Teller._refusal,
    UNDO.name: Teller._undo,
    SWITCH.name: Teller._switch,
    TOKEN_BUDGET.name: Teller._budget,
    NOTE.name: Teller._note,
    MEMORY_FILE.name: Teller._memory_file,
    APPROVAL.name: Teller._approval,
    INSTRUCTION.name: Teller._instruction,
    PROGRESS.name: Teller._progress,
}


def _renamed(moment: Moment, name: str) -> Moment:
    return replace(moment, id=name)


def _part_of(whole: Moment, part: Moment) -> Moment:
    return replace(part, id=f"{part.id}.0", parent=whole.id)


def moments(session: str, events: Iterable[StoredEvent]) -> Iterator[Moment]:
    """Yield the trace records in the order of the log; a span comes at its end."""
    teller = Teller(session)
    for stored in events:
        yield from teller.tell(stored)
