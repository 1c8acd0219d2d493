"""The routes: pages are files, everything else is JSON."""

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
from clew.inspector import acts, context, history, kept, sessions, timeline, transcript
from clew.inspector.guard import Gate, Guard
from clew.inspector.shelf import MISSHAPEN, Book, Shelf
from clew.inspector.sources import expanded, explained
from clew.inspector.talk import Talk, Talks, Telling
from clew.log.protocol import Ctx
from clew.message import JsonObject

STATIC = Path(str(files("clew.inspector"))) / "static"
FOLLOW_SECONDS = 0.5
"""How often a page that follows a session is told where it stands."""
MOST_BYTES = 256_000
"""Of what a page may send at once."""

Look: TypeAlias = Callable[[Shelf, Book, Request], JsonObject]


class Answer(JSONResponse):
    """JSON in ASCII: half of a surrogate pair, which real transcripts hold, has no place in UTF-8."""

    def render(self, content: object) -> bytes:
        """Return the body."""
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def inspector(shelf: Shelf, gate: Gate, talks: Talks) -> ASGIApp:
    """Return the server's application, behind its guard."""
    looks = [Route(f"/api/{name}", _looking(shelf, name)) for name in _LOOKS]
    routes = [
        Route("/", _front),
        Route("/api/sessions", _sessions(shelf)),
        Route(
            "/api/about", lambda _request: Answer({"note": shelf.options.note, "auto": shelf.options.auto})
        ),
        Route("/api/follow", _follow(shelf)),
        Route("/api/act", _act(shelf, talks), methods=["POST"]),
        Route("/api/say", _say(talks), methods=["POST"]),
        *looks,
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={ClewError: _refused}), gate)


async def _front(_request: Request) -> Response:
    return FileResponse(STATIC / "index.html", media_type="text/html; charset=utf-8")


async def _refused(_request: Request, error: Exception) -> Response:
    """Say what went wrong as the command line would."""
    status = 404 if isinstance(error, NotFound) else 400 if isinstance(error, InputError) else 409
    return Answer({"error": str(error)}, status)


# What is looked at -----------------------------------------------------------------------------------


def number_of(request: Request, name: str, default: int) -> int:
    """Return a number from the address, or raise ``InputError``."""
    value = request.query_params.get(name)
    if value is None:
        return default
    if not value.isdecimal() or len(value) > 12:
        raise InputError(f"{name} must be a number")
    return int(value)


def _message(_shelf: Shelf, book: Book, request: Request) -> JsonObject:
    found = transcript.one(book, number_of(request, "number", 0))
    if found is None:
        raise NotFound("there is no such message", f"there are {book.places.messages}")
    return found


def _page(_shelf: Shelf, book: Book, request: Request) -> JsonObject:
    return transcript.page(book, number_of(request, "first", 1), number_of(request, "count", 40))


def _standing(_shelf: Shelf, book: Book, request: Request) -> JsonObject:
    return transcript.standing(book, number_of(request, "first", 1), number_of(request, "last", 1))


def _search(_shelf: Shelf, book: Book, request: Request) -> JsonObject:
    return transcript.search(book, request.query_params.get("q", ""), number_of(request, "after", 0))


def _map(_shelf: Shelf, book: Book, request: Request) -> JsonObject:
    seq = number_of(request, "seq", book.places.upto)
    return context.map_of(book, seq)


def _recall(shelf: Shelf, book: Book, request: Request) -> JsonObject:
    words, everywhere = request.query_params.get("q", ""), "everywhere" in request.query_params
    return kept.recall(shelf, book, words, everywhere)


_LOOKS: dict[str, Look] = {
    "size": lambda _shelf, book, _request: sessions.size(book),
    "page": _page,
    "message": _message,
    "standing": _standing,
    "search": _search,
    "map": _map,
    "diff": lambda _shelf, book, request: context.diff(book, number_of(request, "seq", 0)),
    "compactions": lambda _shelf, book, _request: history.compactions(book),
    "compaction": lambda _shelf, book, request: history.whole(book, request.query_params.get("name", "")),
    "expand": lambda _shelf, book, request: expanded(book, request.query_params.get("ref", "")),
    "explain": lambda _shelf, book, request: explained(book, request.query_params.get("ref", "")),
    "timeline": lambda _shelf, book, _request: timeline.timeline(book),
    "ledger": lambda _shelf, book, _request: kept.ledger(book),
    "notes": lambda shelf, book, _request: kept.notes(shelf, book.ctx.session),
    "recall": _recall,
}


_OPENS = frozenset({"expand", "explain", "ledger"})
"""Looks for which the session itself is opened; of a long log nobody opened before, that takes a while."""


def _looking(shelf: Shelf, name: str) -> Callable[[Request], Response]:
    look = _LOOKS[name]

    def answer(request: Request) -> Response:
        try:
            with shelf.book(request.query_params.get("session", ""), opened=name in _OPENS) as book:
                return Answer(look(shelf, book, request))
        except MISSHAPEN as cause:
            raise StoreDamaged(f"this session holds an event that cannot be read ({cause!r:.200})") from cause

    return answer


def _sessions(shelf: Shelf) -> Callable[[Request], Response]:
    return lambda _request: Answer(sessions.listed(shelf))


# What is done ----------------------------------------------------------------------------------------


def _act(shelf: Shelf, talks: Talks) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        return Answer(await run_in_threadpool(act, await _sent(request)))

    def act(given: dict[str, Any]) -> JsonObject:
        name = acts.text_of(given, "session")
        match given.get("does"):
            case "answer":
                talks.on(name).answer(acts.text_of(given, "call"), acts.text_of(given, "answer"))
                return {}
            case "stop":
                talks.on(name).stop()
                return {}
        with shelf.book(name, opened=True) as book:
            return acts.act(shelf, book, given)

    return answer


def _say(talks: Talks) -> Callable[[Request], Any]:
    """Take a person's words, and stream what happens, a line each."""

    async def answer(request: Request) -> Response:
        given = await _sent(request)
        talk = await run_in_threadpool(talks.on, acts.text_of(given, "session"))
        wish = given.get("auto")  # none: nobody said otherwise than the settings
        auto = talks.shelf.options.auto if wish is None else wish is True
        told = await run_in_threadpool(talk.say, acts.text_of(given, "text"), auto)
        return StreamingResponse(_lines(talk, told), media_type="application/x-ndjson")

    return answer


async def _lines(talk: Talk, told: Telling) -> AsyncIterator[str]:
    """Yield what happens; a page that goes away stops its turn, also one that waits for its answer."""
    is_over = False
    try:
        while one := await anyio.to_thread.run_sync(next, told, None, abandon_on_cancel=True):
            yield f"{json.dumps(one)}\n"
        is_over = True
    finally:
        if not is_over:
            talk.stop()
            # Not in the loop's own threads: they would keep the server from stopping while a model is silent.
            threading.Thread(target=told.end, daemon=True).start()


async def _sent(request: Request) -> dict[str, Any]:
    """Return the object that a page sent."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise InputError("this is too long")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as cause:
        raise InputError("this is not JSON, or nested too deeply") from cause
    if not isinstance(value, dict):
        raise InputError("this is not an object")
    return value


# Following a session ---------------------------------------------------------------------------------


def _follow(shelf: Shelf) -> Callable[[Request], Any]:
    """Tell a page, as long as it listens, each time the session has grown, whoever appends to it."""

    async def answer(request: Request) -> Response:
        ctx = Ctx(workspace=shelf.workspace, session=request.query_params.get("session", ""))

        async def heads() -> AsyncIterator[str]:
            told = -1
            while True:
                seq = (await run_in_threadpool(shelf.store.head, ctx)).seq
                if seq != told:
                    told = seq
                    yield f"data: {seq}\n\n"
                await asyncio.sleep(FOLLOW_SECONDS)

        return StreamingResponse(heads(), media_type="text/event-stream")

    return answer
