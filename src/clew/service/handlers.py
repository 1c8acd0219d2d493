"""What each operation of the HTTP API does: one function per operation, from a ``OperationCall`` to JSON.

``operations.py`` declares the operations and their fields; ``app.py`` checks tokens and fields before it
calls the function of ``HANDLERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from clew.errors import InputError, NotFound
from clew.log.protocol import Ctx, StoredEvent, require_name
from clew.log.store.postgres import PostgresStore
from clew.message import Json, JsonObject
from clew.session import Session

if TYPE_CHECKING:
    from clew.service.app import Service

MOST_NAME_BYTES = 500
"""Of the name of a session or a person: the database's indexes refuse names of some thousand bytes."""
MOST_EVENTS = 500
"""Events of one answer."""


def _name(what: str, value: str) -> str:
    """Return a name, or raise ``InputError`` for one that the database cannot hold."""
    require_name(what, value)
    if len(value.encode("utf-8", "surrogatepass")) > MOST_NAME_BYTES:
        raise InputError(f"the name of the {what} is longer than {MOST_NAME_BYTES} bytes")
    return value


@dataclass(frozen=True, slots=True)
class OperationCall:
    """One request to an operation."""

    service: Service
    workspace: str
    request: Request
    fields: Mapping[str, Any]
    """The fields of its body, checked."""

    @property
    def ctx(self) -> Ctx:
        """Return the session of the request."""
        name = _name("session", self.request.path_params["session"])
        return Ctx(workspace=self.workspace, session=name)

    def existing(self) -> AbstractContextManager[Session]:
        """Lend the session, or raise ``NotFound`` if it has no events."""
        if not self.service.store.head(self.ctx).seq:
            raise NotFound(f"there is no session {self.ctx.session!r}", "append messages to start it")
        return self.lend()

    def lend(self) -> AbstractContextManager[Session]:
        """Lend the session, new or not."""
        return self.service.sessions.lend(self.ctx, self.fields.get("model"), self.fields.get("window"))

    def number(self, name: str, default: str = "0") -> int:
        """Return a number from the query string."""
        value = self.request.query_params.get(name, default)
        if not value.isdecimal() or len(value) > 12:
            raise InputError(f"{name} must be a number")
        return int(value)


def _sessions(call: OperationCall) -> JsonObject:
    sessions = islice(call.service.store.sessions(call.workspace), call.number("limit", "1000"))
    rows: list[Json] = [
        {"name": info.session, "events": info.head.seq, "changed": info.last_time} for info in sessions
    ]
    return {"sessions": rows}


def _append(call: OperationCall) -> JsonObject:
    once = call.request.headers.get("idempotency-key")
    with call.lend() as session:
        person = call.fields["person"] and _name("person", call.fields["person"])
        about: JsonObject | None = {"person": person} if person and "person" not in session.about else None
        ids = session.add(*call.fields["messages"], wire=call.fields["wire"], about=about, once=once)
        usable = session.gauge.window.usable_tokens
        asked = call.service.compact_ahead(session, call.fields)
        return {
            "ids": list[Json](ids),
            "tokens": session.tokens,
            "usable_tokens": usable,
            "compacting": asked,
        }


def _request(call: OperationCall) -> JsonObject:
    fields = call.fields
    with call.existing() as session:
        assembled = session.request(auto=bool(fields["auto"]), memory=bool(fields["memory"]))
        body = assembled.body(fields["wire"] or "anthropic", fields["fields"])
        return {"request": body, "tokens": session.tokens, "rules": [pin.quote for pin in session.pins]}


def _compact(call: OperationCall) -> JsonObject:
    fields = call.fields
    with call.existing() as session:
        if fields["background"]:
            return {"compacting": call.service.defer(session, fields)}
        done = session.compact(target_tokens=fields["target_tokens"], focus=fields["focus"])
        if done is None:
            return {"compaction": None, "tokens": session.tokens}
        sizes: JsonObject = {"tokens_before": done.plan.tokens_before, "tokens_after": done.plan.tokens_after}
        return {"compaction": {"name": done.name, "seq": done.seq, **sizes}, "tokens": session.tokens}


def _preview(call: OperationCall) -> JsonObject:
    fields = call.fields
    with call.existing() as session:
        outcome = session.preview(target_tokens=fields["target_tokens"], focus=fields["focus"])
    if outcome is None:
        return {"preview": None}
    lost: list[Json] = [str(item) for item in outcome.report.lost]
    plan = outcome.plan
    return {"preview": {"tokens_before": plan.tokens_before, "tokens_after": plan.tokens_after, "lost": lost}}


def _undo(call: OperationCall) -> JsonObject:
    with call.existing() as session:
        undone = session.undo(call.fields["count"] or 1, newest=call.fields["newest"])
        return {"undone": [item.name for item in undone], "tokens": session.tokens}


def _recall(call: OperationCall) -> JsonObject:
    with call.existing() as session:
        hits = session.memory.search(call.fields["query"], limit=min(call.fields["limit"] or 10, 100))
        found: list[Json] = [
            {
                "ref": session.memory.ref(hit.entry),
                "time": hit.entry.time,
                "role": hit.entry.role,
                "trust": hit.entry.trust.label,
                "text": hit.entry.text,
            }
            for hit in hits
        ]
    return {"hits": found}


def _rules(call: OperationCall) -> JsonObject:
    with call.existing() as session:
        session.view()  # reads what other workers appended
        return {
            "rules": [{"id": pin.id, "quote": pin.quote, "judgement": pin.judgement} for pin in session.pins]
        }


def _pin(call: OperationCall) -> JsonObject:
    with call.lend() as session:
        return {"rule": session.pin(call.fields["quote"]).id}


def _unpin(call: OperationCall) -> JsonObject:
    with call.existing() as session:
        return {"rule": session.unpin(call.request.path_params["rule"]).id}


def _events(call: OperationCall) -> JsonObject:
    events = read_events(call.service.store, call.ctx, call.number("after"))
    return {"events": [event_to_json(stored) for stored in events], "more": len(events) == MOST_EVENTS}


def read_events(store: PostgresStore, ctx: Ctx, after: int) -> list[StoredEvent]:
    """Return the next events of a session, at most ``MOST_EVENTS``."""
    return list(islice(store.read(ctx, after), MOST_EVENTS))


def event_to_json(stored: StoredEvent) -> JsonObject:
    """Return an event as the API sends it."""
    event = stored.event
    return {"seq": stored.seq, "id": event.id, "kind": event.kind, "time": event.time, "body": event.body}


def _forget(call: OperationCall) -> JsonObject:
    return {"forgotten": call.service.store.forget(call.workspace, call.ctx.session)._asdict()}


def _forget_many(call: OperationCall) -> JsonObject:
    query = call.request.query_params
    if len(query) != 1 or not set(query) <= {"person", "unchanged_days", "all"} or not all(query.values()):
        raise InputError("which sessions?", "add ?person=NAME, ?unchanged_days=N or ?all=yes")
    if "all" in query and query["all"] != "yes":
        raise InputError("all must be yes", "?all=yes deletes every session of the workspace")
    person = _name("person", query["person"]) if "person" in query else None
    before = days_ago(call.number("unchanged_days")) if "unchanged_days" in query else None
    rows = call.service.store.forget(call.workspace, person=person, unchanged_since=before)
    return {"forgotten": rows._asdict()}


def days_ago(days: int) -> datetime:
    """Return the time so many days ago."""
    try:
        return datetime.now(UTC) - timedelta(days=days)
    except OverflowError as cause:
        raise InputError(f"{days} days ago is before our calendar") from cause


HANDLERS: Mapping[str, Callable[[OperationCall], JsonObject]] = {
    "sessions": _sessions,
    "append": _append,
    "request": _request,
    "compact": _compact,
    "preview": _preview,
    "undo": _undo,
    "recall": _recall,
    "rules": _rules,
    "pin": _pin,
    "unpin": _unpin,
    "events": _events,
    "forget": _forget,
    "forget_many": _forget_many,
}
