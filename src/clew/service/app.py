"""The HTTP API: one handler for each operation, bearer tokens, limits, typed errors, health and metrics."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from clew import __version__
from clew.errors import (
    BudgetExceeded,
    ClewError,
    CompactionRefused,
    CompactionUnderWay,
    HeadMoved,
    InputError,
    ModelError,
    NotFound,
    StalePlan,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreUnreachable,
    TooLarge,
    Unauthorized,
)
from clew.log.protocol import Ctx, StoredEvent, require_name
from clew.log.store.postgres import PostgresStore
from clew.message import Json, JsonObject
from clew.service.jobs import Jobs
from clew.service.metrics import Metrics
from clew.service.operations import OPERATIONS, Operation, check_fields, openapi
from clew.service.sessions import SessionCache
from clew.session import Compaction, Session

MOST_BYTES = 32 * 1024 * 1024
"""Most bytes of a request body: the largest request that a provider accepts."""
STALLED_SECONDS = 30.0
"""How long a client may send nothing in the middle of a request: a stalled one holds a place of others."""
MOST_NAME_BYTES = 500
"""Of the name of a session or a person: the database's indexes refuse names of some thousand bytes."""
MOST_EVENTS = 500
FOLLOW_SECONDS = 0.5
"""How often a stream of events looks for new ones."""
KEEP_ALIVE_SECONDS = 15.0
AHEAD = 0.7
"""Share of the usable window from which a session is compacted in the background. A request compacts by
itself at 85 %; between the two there is time for a summary. Chosen by hand."""

_STATUS: tuple[tuple[type[ClewError], int], ...] = (
    (Unauthorized, 401),
    (TooLarge, 413),
    (NotFound, 404),
    (StalePlan, 409),
    (InputError, 400),
    (CompactionUnderWay, 409),
    (CompactionRefused, 422),
    (BudgetExceeded, 422),
    (HeadMoved, 409),
    (StoreBusy, 503),
    (StoreUnreachable, 503),
    (StoreFull, 507),
    (StoreError, 500),
    (ModelError, 502),
)


class Tokens:
    """Which workspace a bearer token opens. Only hashes of tokens are kept."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """``tokens`` has the workspace of each token."""
        self._workspaces = {_hash(token): workspace for token, workspace in tokens.items()}

    def workspace(self, request: Request) -> str:
        """Return the workspace of a request's token, or raise ``Unauthorized``."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        found = self._workspaces.get(_hash(token.strip())) if scheme.lower() == "bearer" else None
        if found is None:
            raise Unauthorized("no valid token")
        return found


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(slots=True)
class Service:
    """What the handlers work with."""

    store: PostgresStore
    sessions: SessionCache
    tokens: Tokens
    jobs: Jobs | None = None
    ahead: float = AHEAD
    metrics: Metrics = field(default_factory=Metrics)

    def app(self) -> Starlette:
        """Return the ASGI application."""
        routes = [
            Route(operation.path, self._endpoint(operation), methods=[operation.method])
            for operation in OPERATIONS
        ]
        routes += [
            Route("/healthz", self._health),
            Route("/metrics", self._metrics),
            Route("/openapi.json", lambda _request: Answer(openapi(__version__))),
        ]
        return Starlette(routes=routes, exception_handlers={404: _no_route, 405: _no_route})

    def _endpoint(self, operation: Operation) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            started = time.monotonic()
            try:
                response = await self._answer(operation, request)
            except ClewError as error:
                response = error_response(error)
            self.metrics.request(operation, response.status_code, time.monotonic() - started)
            return response

        return answer

    async def _answer(self, operation: Operation, request: Request) -> Response:
        workspace = self.tokens.workspace(request)
        fields = check_fields(operation, await _body(request)) if operation.fields else {}
        call = Call(self, workspace, request, fields)
        if operation.name == "events" and "text/event-stream" in request.headers.get("accept", ""):
            after = call.number("after", request.headers.get("last-event-id", "0"))
            return StreamingResponse(self._follow(call.ctx, after), media_type="text/event-stream")
        return Answer(await run_in_threadpool(_HANDLERS[operation.name], call))

    async def _follow(self, ctx: Ctx, after: int) -> AsyncIterator[str]:
        silent = 0.0
        while True:
            events = await run_in_threadpool(_read, self.store, ctx, after)
            for stored in events:
                after = stored.seq
                yield f"id: {stored.seq}\nevent: {stored.event.kind}\ndata: {json.dumps(_event(stored))}\n\n"
            silent = 0.0 if events else silent + FOLLOW_SECONDS
            if silent >= KEEP_ALIVE_SECONDS:
                silent = 0.0
                yield ": still here\n\n"
            if len(events) < MOST_EVENTS:
                await asyncio.sleep(FOLLOW_SECONDS)

    def _health(self, _request: Request) -> Response:
        try:
            self.store.head(Ctx(workspace="clew", session="health"))
        except ClewError as error:
            return error_response(error, 503)
        return Answer({"status": "ok", "version": __version__})

    def _metrics(self, _request: Request) -> Response:
        return PlainTextResponse(
            self.metrics.text(len(self.sessions)), media_type="text/plain; version=0.0.4"
        )

    def compact_ahead(self, session: Session, fields: Mapping[str, Any]) -> bool:
        """Have a session compacted in the background if its window fills up; return whether it was asked."""
        full = session.tokens > self.ahead * session.gauge.window.usable_tokens
        if not (self.jobs and self.ahead and full) or session.is_off:
            return False
        try:
            return self._defer(session, fields)
        except StoreUnreachable:
            return False  # the messages are stored; a later append asks again

    def _defer(self, session: Session, fields: Mapping[str, Any]) -> bool:
        if self.jobs is None:
            raise InputError("this server has no background workers", "start it with --workers 1")
        return self.jobs.defer(session, fields.get("model"), fields.get("window"))


class Answer(Response):
    """JSON in ASCII, because lone surrogates, which real transcripts contain, cannot be encoded in UTF-8."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """Return the body."""
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def error_response(error: ClewError, status: int | None = None) -> Response:
    """Return an error as JSON: its type, and what to do next."""
    known = status or next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
    headers = {"www-authenticate": "Bearer"} if known == 401 else {}
    return Answer({"error": {"type": type(error).__name__, "message": str(error)}}, known, headers)


async def _no_route(request: Request, error: Exception) -> Response:
    known = getattr(error, "status_code", 404)
    return error_response(
        NotFound(f"no {request.method} {request.url.path}", "GET /openapi.json lists them"), known
    )


async def _body(request: Request) -> dict[str, Any]:
    body = await _bytes(request)
    try:
        value = await run_in_threadpool(json.loads, body or b"{}", parse_constant=_no_json)
    except (ValueError, RecursionError) as cause:
        raise InputError("the request is not JSON, or nested too deeply") from cause
    if not isinstance(value, dict):
        raise InputError("the request is not a JSON object")
    return value


async def _bytes(request: Request) -> bytearray:
    body, pieces = bytearray(), request.stream()
    try:
        while True:
            async with asyncio.timeout(STALLED_SECONDS):
                body += await anext(pieces)
            if len(body) > MOST_BYTES:
                raise TooLarge(f"the request is longer than {MOST_BYTES:,} bytes")
    except StopAsyncIteration:
        return body
    except ClientDisconnect as cause:
        raise InputError("the request ended before its body was complete") from cause
    except TimeoutError as cause:
        raise InputError(f"nothing of the request came for {STALLED_SECONDS:g} s") from cause


def _no_json(constant: str) -> float:
    raise ValueError(constant)  # NaN and Infinity, which no answer could contain


def _name(what: str, value: str) -> str:
    """Return a name, or raise ``InputError`` for one that the database cannot hold."""
    require_name(what, value)
    if len(value.encode("utf-8", "surrogatepass")) > MOST_NAME_BYTES:
        raise InputError(f"the name of the {what} is longer than {MOST_NAME_BYTES} bytes")
    return value


# Operations --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """One request to an operation."""

    service: Service
    workspace: str
    request: Request
    given: Mapping[str, Any]

    @property
    def ctx(self) -> Ctx:
        """Return the session of the request."""
        name = _name("session", self.request.path_params["session"])
        return Ctx(workspace=self.workspace, session=name)

    def existing(self) -> Any:  # noqa: ANN401 - a context manager of a Session
        """Lend the session, or raise ``NotFound`` if it has no events."""
        if not self.service.store.head(self.ctx).seq:
            raise NotFound(f"there is no session {self.ctx.session!r}", "append messages to start it")
        return self.lend()

    def lend(self) -> Any:  # noqa: ANN401 - a context manager of a Session
        """Lend the session, new or not."""
        return self.service.sessions.lend(self.ctx, self.given.get("model"), self.given.get("window"))

    def number(self, name: str, default: str = "0") -> int:
        """Return a number from the query string."""
        value = self.request.query_params.get(name, default)
        if not value.isdecimal() or len(value) > 12:
            raise InputError(f"{name} must be a number")
        return int(value)


def _sessions(call: Call) -> JsonObject:
    sessions = islice(call.service.store.sessions(call.workspace), call.number("limit", "1000"))
    return {
        "sessions": [
            {"name": session_info.session, "events": session_info.head.seq, "changed": session_info.last_time}
            for session_info in sessions
        ]
    }


def _append(call: Call) -> JsonObject:
    once = call.request.headers.get("idempotency-key")
    with call.lend() as session:
        person = call.given["person"] and _name("person", call.given["person"])
        about: JsonObject | None = {"person": person} if person and "person" not in session.about else None
        ids = session.add(*call.given["messages"], wire=call.given["wire"], about=about, once=once)
        usable = session.gauge.window.usable_tokens
        asked = call.service.compact_ahead(session, call.given)
        return {"ids": ids, "tokens": session.tokens, "usable_tokens": usable, "compacting": asked}


def _request(call: Call) -> JsonObject:
    fields = call.given
    with call.existing() as session:
        assembled = session.request(auto=bool(fields["auto"]), memory=bool(fields["memory"]))
        body = assembled.body(fields["wire"] or "anthropic", fields["fields"])
        return {"request": body, "tokens": session.tokens, "rules": [pin.quote for pin in session.pins]}


def _compact(call: Call) -> JsonObject:
    fields = call.given
    with call.existing() as session:
        if fields["background"]:
            return {"compacting": call.service._defer(session, fields)}
        done = session.compact(target_tokens=fields["target_tokens"], focus=fields["focus"])
        return {"compaction": _compaction(done) if done else None, "tokens": session.tokens}


def _compaction(compaction: Compaction) -> JsonObject:
    before, after = compaction.plan.tokens_before, compaction.plan.tokens_after
    return {"name": compaction.name, "seq": compaction.seq, "tokens_before": before, "tokens_after": after}


def _preview(call: Call) -> JsonObject:
    fields = call.given
    with call.existing() as session:
        outcome = session.preview(target_tokens=fields["target_tokens"], focus=fields["focus"])
    if outcome is None:
        return {"preview": None}
    lost: list[Json] = [str(item) for item in outcome.report.lost]
    plan = outcome.plan
    return {"preview": {"tokens_before": plan.tokens_before, "tokens_after": plan.tokens_after, "lost": lost}}


def _undo(call: Call) -> JsonObject:
    with call.existing() as session:
        undone = session.undo(call.given["count"] or 1, newest=call.given["newest"])
        return {"undone": [item.name for item in undone], "tokens": session.tokens}


def _recall(call: Call) -> JsonObject:
    with call.existing() as session:
        hits = session.memory.search(call.given["query"], limit=min(call.given["limit"] or 10, 100))
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


def _rules(call: Call) -> JsonObject:
    with call.existing() as session:
        session.view()  # reads what other workers appended
        return {"rules": [{"id": pin.id, "quote": pin.quote} for pin in session.pins]}


def _pin(call: Call) -> JsonObject:
    with call.lend() as session:
        return {"rule": session.pin(call.given["quote"]).id}


def _unpin(call: Call) -> JsonObject:
    with call.existing() as session:
        return {"rule": session.unpin(call.request.path_params["rule"]).id}


def _events(call: Call) -> JsonObject:
    events = _read(call.service.store, call.ctx, call.number("after"))
    return {"events": [_event(stored) for stored in events], "more": len(events) == MOST_EVENTS}


def _read(store: PostgresStore, ctx: Ctx, after: int) -> list[StoredEvent]:
    return list(islice(store.read(ctx, after), MOST_EVENTS))


def _event(stored: StoredEvent) -> JsonObject:
    event = stored.event
    return {"seq": stored.seq, "id": event.id, "kind": event.kind, "time": event.time, "body": event.body}


def _forget(call: Call) -> JsonObject:
    return {"forgotten": call.service.store.forget(call.workspace, call.ctx.session)._asdict()}


def _forget_many(call: Call) -> JsonObject:
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


_HANDLERS: Mapping[str, Callable[[Call], JsonObject]] = {
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
