"""The inspector's HTTP application: who may make requests, and what answers each.

Another site can make a browser send requests to this computer, or point its own host name here. So every
request must name this host and come from this origin, and everything except static files needs the token
(``Guard``). The token is sent in a header that only our own page sets, not in a cookie, because browsers send
cookies to all ports of a computer. Changes must be POSTs that, according to the browser, our own page made.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import anyio.to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clew.errors import ClewError, InputError, NotFound, StoreDamaged
from clew.inspector import (
    actions,
    context,
    history,
    ledger_view,
    session_list,
    timeline,
    tool_compactions,
    transcript,
)
from clew.inspector.chat_stream import EventStream, PageChat, PageChats
from clew.inspector.session_pool import BAD_LOG_ERRORS, OpenSession, SessionPool
from clew.log.protocol import Ctx
from clew.message import JsonObject

READS = ("GET", "HEAD")
TOKEN = "x-clew-token"
"""The header with the token. Another site cannot set it without a CORS preflight, which is refused."""
HEADERS: Mapping[str, str] = {
    # Only our own files are executed; no text can become a script.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True)
class RequestGate:
    """The conditions that a request must meet."""

    token: str
    """A random token, new at every start."""
    host: str
    """The only accepted host name, for example ``127.0.0.1:8710``."""

    @property
    def origin(self) -> str:
        """Return the origin of our own pages."""
        return f"http://{self.host}"

    def refusal(self, scope: Scope) -> str | None:
        """Return why a request is refused; None if it is allowed."""
        headers = Headers(scope=scope)
        if headers.getlist("host") != [self.host]:
            return "the Host header is not the address of this server"
        if headers.get("origin", self.origin) != self.origin:
            return "the Origin header names another site"
        if not self._from_here(scope, headers):
            return "the browser says that another site made this request"
        if not _is_public(scope) and not self._is_token(headers.getlist(TOKEN)):
            return "open the address that clew printed: it contains the access token"
        return None

    def _from_here(self, scope: Scope, headers: Headers) -> bool:
        """Return whether our own page made the request; the start page may also be opened by a link."""
        site = headers.get("sec-fetch-site")
        if scope["method"] not in READS:
            return headers.get("origin") == self.origin if site is None else site == "same-origin"
        return site in (None, "same-origin", "none") or scope["path"] == "/"

    def _is_token(self, values: list[str]) -> bool:
        return len(values) == 1 and hmac.compare_digest(values[0].encode(), self.token.encode())


def _is_public(scope: Scope) -> bool:
    """Return whether a request is for a static file, which reveals nothing about sessions."""
    return scope["method"] in READS and (scope["path"] == "/" or scope["path"].startswith("/static/"))


class Guard:
    """Middleware that refuses requests and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, gate: RequestGate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check and answer a request."""
        if scope["type"] != "http":
            return  # no web sockets, and no lifespan events

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refusal = self._gate.refusal(scope)
        app = self._app if refusal is None else PlainTextResponse(f"clew: {refusal}\n", 403)
        await app(scope, receive, with_headers)


STATIC = Path(str(files("clew.inspector"))) / "static"
FOLLOW_SECONDS = 0.5
"""How often the server looks for new events of a session that a page follows."""
MOST_BYTES = 256_000
"""Most bytes of a request body."""


class RouteAnswer(JSONResponse):
    """JSON in ASCII, because lone surrogates, which real transcripts contain, cannot be encoded in UTF-8."""

    def render(self, content: object) -> bytes:
        """Return the body."""
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def inspector(pool: SessionPool, gate: RequestGate, chats: PageChats) -> ASGIApp:
    """Return the server's application, behind its guard."""
    routes = [
        Route("/", _front),
        *(Route(f"/api/{name}", _pool_route(pool, view)) for name, view in _POOL_VIEWS.items()),
        *(Route(f"/api/{name}", _view_route(pool, name)) for name in _VIEWS),
        Route("/api/follow", _follow(pool)),
        Route("/api/act", _act(pool, chats), methods=["POST"]),
        Route("/api/say", _chat_route(chats), methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={ClewError: _error_response}), gate)


async def _front(_request: Request) -> Response:
    return FileResponse(STATIC / "index.html", media_type="text/html; charset=utf-8")


async def _error_response(_request: Request, error: Exception) -> Response:
    """Return the text of an error, as the command line would print it."""
    status = 404 if isinstance(error, NotFound) else 400 if isinstance(error, InputError) else 409
    return RouteAnswer({"error": str(error)}, status)


# Read-only views -------------------------------------------------------------------------------------


class QueryString(NamedTuple):
    """The query string of a request: ``first=1&count=40``."""

    params: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return a text; empty if it is not given."""
        return self.params.get(name, "")

    def number(self, name: str, default: int) -> int:
        """Return a number, or raise ``InputError``."""
        value = self.params.get(name, str(default))
        if not value.isdecimal() or len(value) > 12:
            raise InputError(f"{name} must be a number")
        return int(value)


_POOL_VIEWS: dict[str, Callable[[SessionPool, QueryString], JsonObject]] = {
    "sessions": lambda pool, _: session_list.session_list(pool),
    "computer": lambda pool, _: pool.others.listed() if pool.others else {"sessions": [], "total": 0},
    "losses": lambda pool, query: (
        pool.others.losses(query.text("session"))
        if pool.others
        else {"needed": 0, "lost": 0, "why": "its file is not on this computer"}
    ),
    "proxy": lambda pool, _: pool.live() if pool.live else {},
    "about": lambda pool, _: {
        "note": pool.options.note,
        "auto": pool.options.auto,
        "tour": pool.others.example if pool.others else "",
    },
}
"""Views of all sessions."""


def _message(handle: OpenSession, number: int) -> JsonObject:
    found = transcript.message(handle, number)
    if found is None:
        raise NotFound("there is no such message", f"there are {handle.message_index.messages}")
    return found


_VIEWS: dict[str, Callable[[SessionPool, OpenSession, QueryString], JsonObject]] = {
    "session": lambda pool, handle, _: session_list.about_session(pool, handle),
    "size": lambda _pool, handle, _: session_list.size(handle),
    "page": lambda _pool, handle, query: transcript.page(
        handle, query.number("first", 1), query.number("count", 40)
    ),
    "message": lambda _pool, handle, query: _message(handle, query.number("number", 0)),
    "visibility": lambda _pool, handle, query: transcript.visibility(
        handle, query.number("first", 1), query.number("last", 1)
    ),
    "search": lambda _pool, handle, query: transcript.search(
        handle, query.text("q"), query.number("after", 0), part_words="parts" in query.params
    ),
    "outline": lambda _pool, handle, _: transcript.outline(handle),
    "map": lambda _pool, handle, query: context.context_map(
        handle, query.number("seq", handle.message_index.upto)
    ),
    "diff": lambda _pool, handle, query: context.diff(handle, query.number("seq", 0)),
    "timeline": lambda _pool, handle, _: timeline.timeline(handle),
    "compactions": lambda _pool, handle, _: history.compactions(handle),
    "compaction": lambda _pool, handle, query: history.compaction(handle, query.text("name")),
    "expand": lambda _pool, handle, query: history.expansion(handle, query.text("ref")),
    "explain": lambda _pool, handle, query: history.explanation(handle, query.text("ref")),
    "tool_compaction": lambda _pool, handle, query: tool_compactions.tool_compaction(
        handle, query.text("name")
    ),
    "tool_lost": lambda pool, handle, query: tool_compactions.lost(pool, handle, query.text("name")),
    "tool_source": lambda pool, handle, query: tool_compactions.likely_sources(
        pool, handle, query.text("name"), query.text("q")
    ),
    "ledger": lambda _pool, handle, _: ledger_view.ledger(handle),
    "notes": lambda pool, handle, _: ledger_view.notes(pool, handle.ctx.session),
    "recall": lambda pool, handle, query: ledger_view.recall(pool, handle, query.text("q")),
}
"""Views of one session."""
_OPENS = frozenset({"expand", "explain", "ledger"})
"""Views that need the opened session; opening takes a while for a long log."""


def _pool_route(
    pool: SessionPool, view: Callable[[SessionPool, QueryString], JsonObject]
) -> Callable[[Request], Response]:
    return lambda request: RouteAnswer(view(pool, QueryString(request.query_params)))


def _view_route(pool: SessionPool, name: str) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        query = QueryString(request.query_params)
        session = query.text("session")
        try:
            home = pool.home(session)
            with home.open(session, opened=name in _OPENS) as handle:
                return RouteAnswer(_VIEWS[name](home, handle, query))
        except BAD_LOG_ERRORS as cause:
            raise StoreDamaged(f"this session has an event that cannot be read ({cause!r:.200})") from cause

    return answer


# Actions and chat ------------------------------------------------------------------------------------


def _act(pool: SessionPool, chats: PageChats) -> Callable[[Request], Any]:
    """Return the route for actions of the page: approve a tool, stop a turn, pin a rule, undo."""

    async def route(request: Request) -> Response:
        return RouteAnswer(await run_in_threadpool(act, await _json_body(request)))

    def act(arguments: dict[str, Any]) -> JsonObject:
        name = actions.text_of(arguments, "session")
        match arguments.get("does"):
            case "answer":
                call, answer = (actions.text_of(arguments, field) for field in ("call", "answer"))
                chats.on(name).answer(call, answer)
                return {}
            case "stop":
                chats.on(name).stop()
                return {}
        home = pool.home(name)
        with home.open(name, opened=True) as handle:
            return actions.act(home, handle, arguments)

    return route


def _chat_route(chats: PageChats) -> Callable[[Request], Any]:
    """Send a person's message to the chat and stream the events, one JSON object per line."""

    async def answer(request: Request) -> Response:
        arguments = await _json_body(request)
        chat = await run_in_threadpool(chats.on, actions.text_of(arguments, "session"))
        chosen = arguments.get("auto")  # absent: use the setting
        auto = chats.pool.options.auto if chosen is None else chosen is True
        stream = await run_in_threadpool(chat.say, actions.text_of(arguments, "text"), auto)
        return StreamingResponse(_lines(chat, stream), media_type="application/x-ndjson")

    return answer


async def _lines(chat: PageChat, stream: EventStream) -> AsyncIterator[str]:
    """Yield the events of a turn; if the page goes away, stop the turn."""
    is_over = False
    try:
        while data := await anyio.to_thread.run_sync(next, stream, None, abandon_on_cancel=True):
            yield f"{json.dumps(data)}\n"
        is_over = True
    finally:
        if not is_over:
            chat.stop()
            # A separate daemon thread: the pool's threads would delay the server's shutdown.
            threading.Thread(target=stream.end, daemon=True).start()


async def _json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request body."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise InputError(f"the request is longer than {MOST_BYTES:,} bytes")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as cause:
        raise InputError("the request is not JSON, or nested too deeply") from cause
    if not isinstance(value, dict):
        raise InputError("the request is not a JSON object")
    return value


# Following a session ---------------------------------------------------------------------------------


def _follow(pool: SessionPool) -> Callable[[Request], Any]:
    """Send the number of the last event whenever the session has grown, by any process."""

    async def answer(request: Request) -> Response:
        ctx = Ctx(workspace=pool.workspace, session=request.query_params.get("session", ""))
        store = (await run_in_threadpool(pool.home, ctx.session)).store

        async def heads() -> AsyncIterator[str]:
            sent = -1
            while True:
                seq = (await run_in_threadpool(store.head, ctx)).seq
                if seq != sent:
                    sent = seq
                    yield f"data: {seq}\n\n"
                await asyncio.sleep(FOLLOW_SECONDS)

        return StreamingResponse(heads(), media_type="text/event-stream")

    return answer
