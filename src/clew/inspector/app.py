"""The routes of the inspector: static files, and JSON for everything else.

``GET /api/NAME?session=…`` returns the view NAME (see ``_VIEWS``), ``POST /api/act`` runs an action of a
person, ``POST /api/say`` streams a chat turn, and ``GET /api/follow`` reports each time that the session has
grown.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import anyio.to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

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
from clew.inspector.guard import Guard, RequestGate
from clew.inspector.history import expansion, explanation
from clew.inspector.session_pool import BAD_LOG_ERRORS, OpenSession, SessionPool
from clew.log.protocol import Ctx
from clew.message import JsonObject

STATIC = Path(str(files("clew.inspector"))) / "static"
FOLLOW_SECONDS = 0.5
"""How often the server looks for new events of a session that a page follows."""
MOST_BYTES = 256_000
"""Most bytes of a request body."""

ViewFunction: TypeAlias = Callable[[SessionPool, OpenSession, Request], JsonObject]


class RouteAnswer(JSONResponse):
    """JSON in ASCII, because lone surrogates, which real transcripts contain, cannot be encoded in UTF-8."""

    def render(self, content: object) -> bytes:
        """Return the body."""
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def inspector(pool: SessionPool, gate: RequestGate, chats: PageChats) -> ASGIApp:
    """Return the server's application, behind its guard."""
    views = [Route(f"/api/{name}", _view_route(pool, name)) for name in _VIEWS]
    routes = [
        Route("/", _front),
        Route("/api/sessions", _sessions(pool)),
        Route("/api/computer", _computer(pool)),
        Route("/api/losses", _losses(pool)),
        Route("/api/proxy", lambda _request: RouteAnswer(pool.live() if pool.live else {})),
        Route("/api/about", _about(pool)),
        Route("/api/follow", _follow(pool)),
        Route("/api/act", _act(pool, chats), methods=["POST"]),
        Route("/api/say", _chat_route(chats), methods=["POST"]),
        *views,
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


def number_of(request: Request, name: str, default: int) -> int:
    """Return a number from the query string, or raise ``InputError``."""
    value = request.query_params.get(name)
    if value is None:
        return default
    if not value.isdecimal() or len(value) > 12:
        raise InputError(f"{name} must be a number")
    return int(value)


def _message(_pool: SessionPool, handle: OpenSession, request: Request) -> JsonObject:
    data = transcript.message(handle, number_of(request, "number", 0))
    if data is None:
        raise NotFound("there is no such message", f"there are {handle.message_index.messages}")
    return data


def _page(_pool: SessionPool, handle: OpenSession, request: Request) -> JsonObject:
    return transcript.page(handle, number_of(request, "first", 1), number_of(request, "count", 40))


def _visibility(_pool: SessionPool, handle: OpenSession, request: Request) -> JsonObject:
    return transcript.visibility(handle, number_of(request, "first", 1), number_of(request, "last", 1))


def _search(_pool: SessionPool, handle: OpenSession, request: Request) -> JsonObject:
    words, part_words = request.query_params.get("q", ""), "parts" in request.query_params
    return transcript.search(handle, words, number_of(request, "after", 0), part_words=part_words)


def _map(_pool: SessionPool, handle: OpenSession, request: Request) -> JsonObject:
    seq = number_of(request, "seq", handle.message_index.upto)
    return context.context_map(handle, seq)


def _recall(pool: SessionPool, handle: OpenSession, request: Request) -> JsonObject:
    words, everywhere = request.query_params.get("q", ""), "everywhere" in request.query_params
    return ledger_view.recall(pool, handle, words, everywhere)


_VIEWS: dict[str, ViewFunction] = {
    "session": lambda pool, handle, _request: session_list.about_session(pool, handle),
    "tool_compaction": lambda _pool, handle, request: tool_compactions.tool_compaction(
        handle, request.query_params.get("name", "")
    ),
    "tool_lost": lambda pool, handle, request: tool_compactions.lost(
        pool, handle, request.query_params.get("name", "")
    ),
    "tool_source": lambda pool, handle, request: tool_compactions.likely_sources(
        pool, handle, request.query_params.get("name", ""), request.query_params.get("q", "")
    ),
    "size": lambda _pool, handle, _request: session_list.size(handle),
    "page": _page,
    "message": _message,
    "visibility": _visibility,
    "search": _search,
    "outline": lambda _pool, handle, _request: transcript.outline(handle),
    "map": _map,
    "diff": lambda _pool, handle, request: context.diff(handle, number_of(request, "seq", 0)),
    "compactions": lambda _pool, handle, _request: history.compactions(handle),
    "compaction": lambda _pool, handle, request: history.compaction(
        handle, request.query_params.get("name", "")
    ),
    "expand": lambda _pool, handle, request: expansion(handle, request.query_params.get("ref", "")),
    "explain": lambda _pool, handle, request: explanation(handle, request.query_params.get("ref", "")),
    "timeline": lambda _pool, handle, _request: timeline.timeline(handle),
    "ledger": lambda _pool, handle, _request: ledger_view.ledger(handle),
    "notes": lambda pool, handle, _request: ledger_view.notes(pool, handle.ctx.session),
    "recall": _recall,
}


_OPENS = frozenset({"expand", "explain", "ledger"})
"""Views that need the opened session; opening takes a while for a long log."""


def _view_route(pool: SessionPool, name: str) -> Callable[[Request], Response]:
    view = _VIEWS[name]

    def answer(request: Request) -> Response:
        try:
            session = request.query_params.get("session", "")
            home = pool.home(session)
            with home.open(session, opened=name in _OPENS) as handle:
                return RouteAnswer(view(home, handle, request))
        except BAD_LOG_ERRORS as cause:
            raise StoreDamaged(f"this session has an event that cannot be read ({cause!r:.200})") from cause

    return answer


def _sessions(pool: SessionPool) -> Callable[[Request], Response]:
    return lambda _request: RouteAnswer(session_list.session_list(pool))


def _about(pool: SessionPool) -> Callable[[Request], Response]:
    tour = pool.others.example if pool.others else ""
    return lambda _request: RouteAnswer({"note": pool.options.note, "auto": pool.options.auto, "tour": tour})


def _computer(pool: SessionPool) -> Callable[[Request], Response]:
    nothing: JsonObject = {"sessions": [], "total": 0}
    return lambda _request: RouteAnswer(pool.others.listed() if pool.others else nothing)


def _losses(pool: SessionPool) -> Callable[[Request], Response]:
    none: JsonObject = {"needed": 0, "lost": 0, "why": "its file is not on this computer"}

    def answer(request: Request) -> Response:
        name = request.query_params.get("session", "")
        return RouteAnswer(pool.others.losses(name) if pool.others else none)

    return answer


# Actions and chat ------------------------------------------------------------------------------------


def _act(pool: SessionPool, chats: PageChats) -> Callable[[Request], Any]:
    """Return the route for actions of the page: approve a tool, stop a turn, pin a rule, undo."""

    async def answer(request: Request) -> Response:
        return RouteAnswer(await run_in_threadpool(act, await _json_body(request)))

    def act(arguments: dict[str, Any]) -> JsonObject:
        name = actions.text_of(arguments, "session")
        match arguments.get("does"):
            case "answer":
                chats.on(name).answer(
                    actions.text_of(arguments, "call"), actions.text_of(arguments, "answer")
                )
                return {}
            case "stop":
                chats.on(name).stop()
                return {}
        home = pool.home(name)
        with home.open(name, opened=True) as handle:
            return actions.act(home, handle, arguments)

    return answer


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
