"""The operations of the HTTP API, each declared with the function that does it.

A declaration is the route, the fields of the request's body, and the description, which is the docstring.
``app.py`` checks the token and the fields (``check_fields``) before it calls the function. ``openapi``
describes all operations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.errors import InputError, NotFound
from clew.log.protocol import Ctx, StoredEvent, require_name
from clew.message import Json, JsonObject
from clew.session import Session

if TYPE_CHECKING:
    from starlette.requests import Request

    from clew.log.store.postgres import PostgresStore
    from clew.service.app import Service

MOST_NAME_BYTES = 500
"""Of the name of a session or a person: the database's indexes refuse names of some thousand bytes."""
MOST_EVENTS = 500
"""Events of one answer."""


class OperationField(NamedTuple):
    """A field of a request body."""

    type: str
    about: str
    required: bool = False


class Operation(NamedTuple):
    """One operation on a session, or on the sessions of a workspace."""

    name: str
    method: str
    path: str
    about: str
    fields: Mapping[str, OperationField]
    run: Callable[[OperationCall], JsonObject]


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


def _name(what: str, value: str) -> str:
    """Return a name, or raise ``InputError`` for one that the database cannot hold."""
    require_name(what, value)
    if len(value.encode("utf-8", "surrogatepass")) > MOST_NAME_BYTES:
        raise InputError(f"the name of the {what} is longer than {MOST_NAME_BYTES} bytes")
    return value


OPERATIONS: list[Operation] = []
_Run = Callable[[OperationCall], JsonObject]


def _operation(
    method: str, path: str, fields: Mapping[str, OperationField] | None = None
) -> Callable[[_Run], _Run]:
    """Add a function to the operations; its name and docstring are those of the operation."""

    def add(run: _Run) -> _Run:
        about = " ".join(inspect.cleandoc(run.__doc__ or "").split())
        OPERATIONS.append(Operation(run.__name__[1:], method, path, about, fields or {}, run))
        return run

    return add


# Sessions and requests -------------------------------------------------------------------------------

_SESSION = "/v1/sessions/{session}"
_MODEL = {
    "model": OperationField(
        "string", "The model that receives the requests: how tokens are counted, how many fit."
    ),
    "window": OperationField("integer", "Context window in tokens, if it is not the model's own."),
}
_GOAL = {
    "target_tokens": OperationField("integer", "The size to reach, system prompt excluded."),
    "focus": OperationField("string", "What matters now, in a person's words."),
}


@_operation("GET", "/v1/sessions")
def _sessions(call: OperationCall) -> JsonObject:
    """List the sessions of the workspace."""
    sessions = islice(call.service.store.sessions(call.workspace), call.number("limit", "1000"))
    rows: list[Json] = [
        {"name": info.session, "events": info.head.seq, "changed": info.last_time} for info in sessions
    ]
    return {"sessions": rows}


@_operation(
    "POST",
    f"{_SESSION}/messages",
    {
        "messages": OperationField("array", "Entries of a provider's message list.", required=True),
        "wire": OperationField("string", "Their format, if it is detected wrongly."),
        "person": OperationField("string", "Whom the session belongs to, recorded once; see forget_many."),
        **_MODEL,
    },
)
def _append(call: OperationCall) -> JsonObject:
    """Append messages, durably. With an Idempotency-Key header a repeated call appends nothing."""
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


@_operation(
    "POST",
    f"{_SESSION}/request",
    {
        "wire": OperationField("string", "anthropic, openai, responses or gemini (default: anthropic)."),
        "fields": OperationField("object", "Other fields of the request, such as max_tokens."),
        "auto": OperationField("boolean", "Compact first if that is due and pays."),
        "memory": OperationField("boolean", "Add what recall finds for the user's last message."),
        **_MODEL,
    },
)
def _request(call: OperationCall) -> JsonObject:
    """Return the next request to the model: the view and what belongs around it."""
    fields = call.fields
    with call.existing() as session:
        assembled = session.request(auto=bool(fields["auto"]), memory=bool(fields["memory"]))
        body = assembled.body(fields["wire"] or "anthropic", fields["fields"])
        return {"request": body, "tokens": session.tokens, "rules": [pin.quote for pin in session.pins]}


@_operation(
    "POST",
    f"{_SESSION}/compact",
    {**_GOAL, "background": OperationField("boolean", "Return at once; a worker compacts."), **_MODEL},
)
def _compact(call: OperationCall) -> JsonObject:
    """Make the view smaller, now or in the background."""
    fields = call.fields
    with call.existing() as session:
        if fields["background"]:
            return {"compacting": call.service.defer(session, fields)}
        done = session.compact(target_tokens=fields["target_tokens"], focus=fields["focus"])
        if done is None:
            return {"compaction": None, "tokens": session.tokens}
        sizes: JsonObject = {"tokens_before": done.plan.tokens_before, "tokens_after": done.plan.tokens_after}
        return {"compaction": {"name": done.name, "seq": done.seq, **sizes}, "tokens": session.tokens}


@_operation("POST", f"{_SESSION}/preview", {**_GOAL, **_MODEL})
def _preview(call: OperationCall) -> JsonObject:
    """Return what a compaction would do and lose, without doing it."""
    fields = call.fields
    with call.existing() as session:
        outcome = session.preview(target_tokens=fields["target_tokens"], focus=fields["focus"])
    if outcome is None:
        return {"preview": None}
    lost: list[Json] = [str(item) for item in outcome.report.lost]
    plan = outcome.plan
    return {"preview": {"tokens_before": plan.tokens_before, "tokens_after": plan.tokens_after, "lost": lost}}


@_operation(
    "POST",
    f"{_SESSION}/undo",
    {
        "count": OperationField("integer", "How many (default: 1)."),
        "newest": OperationField("string", "The last compaction that the caller knows, for example d3."),
    },
)
def _undo(call: OperationCall) -> JsonObject:
    """Undo the last compactions."""
    with call.existing() as session:
        undone = session.undo(call.fields["count"] or 1, newest=call.fields["newest"])
        return {"undone": [item.name for item in undone], "tokens": session.tokens}


@_operation(
    "POST",
    f"{_SESSION}/recall",
    {
        "query": OperationField("string", "What to look for.", required=True),
        "limit": OperationField("integer", "Most hits (default: 10)."),
    },
)
def _recall(call: OperationCall) -> JsonObject:
    """Search this session and the others of its project."""
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


@_operation("GET", f"{_SESSION}/rules")
def _rules(call: OperationCall) -> JsonObject:
    """List the rules in force."""
    with call.existing() as session:
        session.view()  # reads what other workers appended
        return {
            "rules": [{"id": pin.id, "quote": pin.quote, "judgement": pin.judgement} for pin in session.pins]
        }


@_operation("POST", f"{_SESSION}/rules", {"quote": OperationField("string", "Its wording.", required=True)})
def _pin(call: OperationCall) -> JsonObject:
    """Set a rule."""
    with call.lend() as session:
        return {"rule": session.pin(call.fields["quote"]).id}


@_operation("DELETE", f"{_SESSION}/rules/{{rule}}")
def _unpin(call: OperationCall) -> JsonObject:
    """Revoke a rule."""
    with call.existing() as session:
        return {"rule": session.unpin(call.request.path_params["rule"]).id}


@_operation("GET", f"{_SESSION}/events")
def _events(call: OperationCall) -> JsonObject:
    """List events after `?after=N`; with `Accept: text/event-stream`, follow the session."""
    events = read_events(call.service.store, call.ctx, call.number("after"))
    return {"events": [event_to_json(stored) for stored in events], "more": len(events) == MOST_EVENTS}


def read_events(store: PostgresStore, ctx: Ctx, after: int) -> list[StoredEvent]:
    """Return the next events of a session, at most ``MOST_EVENTS``."""
    return list(islice(store.read(ctx, after), MOST_EVENTS))


def event_to_json(stored: StoredEvent) -> JsonObject:
    """Return an event as the API sends it."""
    event = stored.event
    return {"seq": stored.seq, "id": event.id, "kind": event.kind, "time": event.time, "body": event.body}


@_operation("DELETE", "/v1/sessions")
def _forget_many(call: OperationCall) -> JsonObject:
    """Delete sessions with log, texts, index and snapshots.

    `?person=NAME` deletes those of a person, `?unchanged_days=N` those without an append for so long,
    `?all=yes` the whole workspace.
    """
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


@_operation("DELETE", _SESSION)
def _forget(call: OperationCall) -> JsonObject:
    """Delete the session: log, texts, index, snapshots."""
    return {"forgotten": call.service.store.forget(call.workspace, call.ctx.session)._asdict()}


# Checks and description ------------------------------------------------------------------------------

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
}


def check_fields(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request body, or raise ``InputError``."""
    for name, value in given.items():
        field = operation.fields.get(name)
        if field is None:
            known = ", ".join(operation.fields) or "none"
            raise InputError(f"unknown field {name[:40]!r}", f"the fields of {operation.name} are: {known}")
        wrong_bool = isinstance(value, bool) and field.type != "boolean"
        if value is not None and (wrong_bool or not isinstance(value, _TYPES[field.type])):
            raise InputError(f"{name} must be of type {field.type}")
        if field.type == "integer" and isinstance(value, int) and not 0 < value < 2**31:
            raise InputError(f"{name} must be a number above zero")
    for name, field in operation.fields.items():
        if field.required and given.get(name) in (None, "", []):
            raise InputError(f"{name} is missing", f"send a JSON object with {name}")
    return {name: given.get(name) for name in operation.fields}


def openapi(version: str) -> JsonObject:
    """Return the OpenAPI description of the API."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation)
    error: Json = {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
                "required": ["type", "message"],
            }
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "clew", "version": version, "description": "Context compaction for LLM agents."},
        "paths": paths,
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": error},
        },
    }


def _describe(operation: Operation) -> JsonObject:
    """Return the OpenAPI description of an operation."""
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.about,
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ],
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": {"type": "object"}}}},
            "default": {
                "description": "An error, with its type and what to do next.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if operation.fields:
        schema = {
            "type": "object",
            "properties": {
                name: {"type": field.type, "description": field.about}
                for name, field in operation.fields.items()
            },
            "required": [name for name, field in operation.fields.items() if field.required],
            "additionalProperties": False,
        }
        described["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return described
