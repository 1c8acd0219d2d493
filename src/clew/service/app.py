"""The HTTP API: routes, bearer tokens, limits on requests, typed errors, health and metrics.

Metrics are in the text format of Prometheus, and recorded with OpenTelemetry if that is installed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
from clew.log.protocol import Ctx
from clew.log.store.postgres import PostgresStore
from clew.service.jobs import Jobs
from clew.service.operations import (
    MOST_EVENTS,
    OPERATIONS,
    Operation,
    OperationCall,
    check_fields,
    event_to_json,
    openapi,
    read_events,
)
from clew.service.sessions import SessionCache
from clew.session import Session

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

    from clew.service.operations import Operation

MOST_BYTES = 32 * 1024 * 1024
"""Most bytes of a request body: the largest request that a provider accepts."""
STALLED_SECONDS = 30.0
"""How long a client may send nothing in the middle of a request: a stalled one holds a place of others."""
FOLLOW_SECONDS = 0.5
"""How often a stream of events looks for new ones."""
KEEP_ALIVE_SECONDS = 15.0
"""After so long without an event a comment is sent, so that no proxy between closes the stream."""
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


# Metrics ---------------------------------------------------------------------------------------------

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of durations, in seconds: the default ones of Prometheus' client for Go."""


def otel_meter() -> Meter | None:
    """Return a meter of OpenTelemetry, if its API is installed.

    It records nothing until the program is given a meter provider, for example by `opentelemetry-instrument`.
    """
    try:
        from opentelemetry.metrics import get_meter
    except ImportError:
        return None
    return get_meter("clew", __version__)


class Metrics:
    """Counts requests and background jobs. Share one between threads."""

    def __init__(self, meter: Meter | None = None) -> None:
        """With a ``meter``, everything is recorded there too, with OpenTelemetry's names for servers."""
        duration = "http.server.request.duration"
        self._durations = meter and meter.create_histogram(
            duration, "s", explicit_bucket_boundaries_advisory=BUCKETS
        )
        self._finished_jobs = meter and meter.create_counter("clew.jobs", "{job}", "Background compactions.")
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._buckets: Counter[tuple[str, float]] = Counter()
        self._jobs: Counter[str] = Counter()

    def request(self, operation: Operation, status: int, seconds: float) -> None:
        """Count a request."""
        name = operation.name
        with self._lock:
            self._requests[name, status] += 1
            self._seconds[name] += seconds  # type: ignore[assignment]  # a sum of seconds
            for bound in BUCKETS:
                self._buckets[name, bound] += seconds <= bound
        if self._durations:
            route = {"http.request.method": operation.method, "http.route": operation.path}
            self._durations.record(seconds, {**route, "http.response.status_code": status})

    def job(self, result: str) -> None:
        """Count a background job by its result."""
        with self._lock:
            self._jobs[result] += 1
        if self._finished_jobs:
            self._finished_jobs.add(1, {"clew.job.result": result})

    def text(self, open_sessions: int) -> str:
        """Return everything in Prometheus' format."""
        with self._lock:
            return "\n".join([*self._lines(open_sessions), ""])

    def _lines(self, open_sessions: int) -> Iterator[str]:
        yield "# HELP clew_request_seconds Time to answer a request.\n# TYPE clew_request_seconds histogram"
        counts: Counter[str] = Counter()
        for (operation, _), count in self._requests.items():
            counts[operation] += count
        for operation, count in sorted(counts.items()):
            for bound in BUCKETS:
                in_bucket = self._buckets[operation, bound]
                yield f'clew_request_seconds_bucket{{operation="{operation}",le="{bound}"}} {in_bucket}'
            yield f'clew_request_seconds_bucket{{operation="{operation}",le="+Inf"}} {count}'
            yield f'clew_request_seconds_sum{{operation="{operation}"}} {self._seconds[operation]:.6f}'
            yield f'clew_request_seconds_count{{operation="{operation}"}} {count}'
        yield "# HELP clew_requests_total Requests by status.\n# TYPE clew_requests_total counter"
        for (operation, status), count in sorted(self._requests.items()):
            yield f'clew_requests_total{{operation="{operation}",status="{status}"}} {count}'
        yield "# HELP clew_jobs_total Background compactions by result.\n# TYPE clew_jobs_total counter"
        for result, count in sorted(self._jobs.items()):
            yield f'clew_jobs_total{{result="{result}"}} {count}'
        yield "# HELP clew_open_sessions Sessions in the cache.\n# TYPE clew_open_sessions gauge"
        yield f"clew_open_sessions {open_sessions}"


# The application -------------------------------------------------------------------------------------


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
            Route("/openapi.json", lambda _request: JsonAnswer(openapi(__version__))),
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
        call = OperationCall(self, workspace, request, fields)
        if operation.name == "events" and "text/event-stream" in request.headers.get("accept", ""):
            after = call.number("after", request.headers.get("last-event-id", "0"))
            return StreamingResponse(self._follow(call.ctx, after), media_type="text/event-stream")
        return JsonAnswer(await run_in_threadpool(operation.run, call))

    async def _follow(self, ctx: Ctx, after: int) -> AsyncIterator[str]:
        """Yield the events of a session as server-sent events, for ever."""
        silent = 0.0
        while True:
            events = await run_in_threadpool(read_events, self.store, ctx, after)
            for stored in events:
                after = stored.seq
                data = json.dumps(event_to_json(stored))
                yield f"id: {stored.seq}\nevent: {stored.event.kind}\ndata: {data}\n\n"
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
        return JsonAnswer({"status": "ok", "version": __version__})

    def _metrics(self, _request: Request) -> Response:
        text = self.metrics.text(len(self.sessions))
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    def compact_ahead(self, session: Session, fields: Mapping[str, Any]) -> bool:
        """Have a session compacted in the background if its window fills up; return whether it was asked."""
        full = session.tokens > self.ahead * session.gauge.window.usable_tokens
        if not (self.jobs and self.ahead and full) or session.is_off:
            return False
        try:
            return self.defer(session, fields)
        except StoreUnreachable:
            return False  # the messages are stored; a later append asks again

    def defer(self, session: Session, fields: Mapping[str, Any]) -> bool:
        """Have a session compacted in the background; False if that is waiting already."""
        if self.jobs is None:
            raise InputError("this server has no background workers", "start it with --workers 1")
        return self.jobs.defer(session, fields.get("model"), fields.get("window"))


class JsonAnswer(Response):
    """JSON in ASCII, because lone surrogates, which real transcripts contain, cannot be encoded in UTF-8."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        """Return the body."""
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def error_response(error: ClewError, status: int | None = None) -> Response:
    """Return an error as JSON: its type, and what to do next."""
    known = status or next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
    headers = {"www-authenticate": "Bearer"} if known == 401 else {}
    return JsonAnswer({"error": {"type": type(error).__name__, "message": str(error)}}, known, headers)


async def _no_route(request: Request, error: Exception) -> Response:
    unknown = NotFound(f"no {request.method} {request.url.path}", "GET /openapi.json lists them")
    return error_response(unknown, getattr(error, "status_code", 404))


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
