"""A loopback server that answers real provider APIs from a script, to test real clients offline.

    with ScriptedServer("hello", HttpStatus(529), extractive) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="none")
        ...
    assert not server.requests[0].check().refused

It listens on 127.0.0.1 only and serves Anthropic Messages, OpenAI Chat Completions and OpenAI Responses,
whole or streamed. Like the real servers it refuses requests that break the API's rules.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

from clew.errors import ContextTooLong, ModelBusy, ModelError, ModelRefused, ModelTimeout
from clew.message import JsonObject
from clew.providers import Body, CheckReport
from clew.providers.model import Ask
from clew.providers.scripted import Line, ScriptExhausted, ask_of_body, play_line
from clew.providers.server_side import SERVER_SIDES, ServerSide

_WIRE_OF_PATH = {"/messages": "anthropic", "/chat/completions": "openai", "/responses": "responses"}
"""Wire formats by the end of the path, because gateways and clouds put their own prefix in front."""


@dataclass(frozen=True, slots=True)
class HttpStatus:
    """A script line that is an HTTP response: an error in the API's format, or any text."""

    status: int
    message: str = "scripted"
    code: str | None = None
    """The provider's error code; None means the usual one for the status."""
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    """The whole body, in place of an error object."""


class HangUp:
    """A script line that closes the connection without an answer."""


@dataclass(frozen=True, slots=True)
class BrokenStream:
    """A script line that streams the beginning of an answer, then closes the connection or stays silent."""

    line: Line
    events: int
    """The number of stream events to send."""
    silent: bool = False
    """Keep the connection open without sending anything more."""


ServerLine: TypeAlias = Line | HttpStatus | HangUp | BrokenStream


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request that the server received."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    raw: bytes
    server_side: ServerSide = field(repr=False)
    """The API it was sent to."""

    @property
    def body(self) -> JsonObject:
        """Return the body, or an empty object if it is not a JSON object."""
        try:
            value = json.loads(self.raw)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def ask(self) -> Ask:
        """Return the request as an ``Ask``; a last message by the user is the instruction."""
        return ask_of_body(Body.parse(self.body, self.server_side.wire))

    def check(self) -> CheckReport:
        """Report whether the real API would refuse it."""
        return self.server_side.wire.check(self.body)


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    headers: Mapping[str, str]
    body: bytes
    missing: int = 0
    """Bytes counted in the content length and never sent."""
    silent: bool = False


class ScriptedServer:
    """A server that answers each request with the next line of its script; see the module docstring."""

    def __init__(self, *lines: ServerLine, strict: bool = True) -> None:
        """Take the lines. A strict server refuses what the real API refuses, without using up a line."""
        self.requests: list[ReceivedRequest] = []
        self.strict = strict
        self._lines: Iterator[ServerLine] = iter(lines)
        self._exhausted: ScriptExhausted | None = None
        self._turn = threading.Lock()
        self.closing = threading.Event()
        """Set when the server stops; silent responses wait for it."""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @classmethod
    def always(cls, line: ServerLine, strict: bool = True) -> ScriptedServer:
        """Return a server that answers every request with the same line."""
        server = cls(strict=strict)
        server._lines = itertools.repeat(line)
        return server

    @property
    def url(self) -> str:
        """Return the base URL for Anthropic's SDK; for OpenAI's SDK append ``/v1``."""
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        if self._exhausted is not None and error is None:
            raise self._exhausted

    def answer(self, request: ReceivedRequest) -> _Response | None:
        """Return the response to a request, or None to close the connection."""
        with self._turn:
            self.requests.append(request)
            number = len(self.requests)
            if self.strict and (report := request.check()).refused:
                return _error(request.server_side, HttpStatus(400, str(report.violations[0])))
            line = next(self._lines, None)
            if line is None:
                self._exhausted = ScriptExhausted(f"request {number} has no line in the script")
                return _error(request.server_side, HttpStatus(500, str(self._exhausted)))
        return self._response(line, request, number)

    def _response(self, line: ServerLine, request: ReceivedRequest, number: int) -> _Response | None:
        if isinstance(line, HangUp):
            return None
        if isinstance(line, HttpStatus):
            return _error(request.server_side, line)
        try:
            reply = play_line(line.line if isinstance(line, BrokenStream) else line, request.ask)
        except ModelTimeout:
            self.closing.wait()
            return None
        except ModelError as error:
            return _error(request.server_side, _status_of(error, request.server_side))
        body = request.body
        answer = request.server_side.response(reply, body, number)
        if body.get("stream"):
            return _streamed_response(list(request.server_side.stream(answer, body)), line)
        return _Response(200, {"content-type": "application/json"}, json.dumps(answer).encode())


def _streamed_response(events: list[str], line: ServerLine) -> _Response:
    """Return a streamed response, cut off after some events if the line is ``BrokenStream``."""
    headers = {"content-type": "text/event-stream"}
    if not isinstance(line, BrokenStream):
        return _Response(200, headers, "".join(events).encode())
    return _Response(200, headers, "".join(events[: line.events]).encode(), 1, line.silent)


def _status_of(error: ModelError, server_side: ServerSide) -> HttpStatus:
    """Return the HTTP response that a client translates to this error."""
    match error:
        case ModelBusy(retry_after=seconds):
            headers = {} if seconds is None else {"retry-after": str(seconds)}
            return HttpStatus(429, error.detail or "busy", headers=headers)
        case ContextTooLong(tokens=tokens, limit=limit):
            code = None if server_side.wire.name == "anthropic" else "context_length_exceeded"
            return HttpStatus(400, server_side.too_long(tokens or 200_001, limit or 200_000), code)
        case ModelRefused():
            return HttpStatus(400, error.detail or "refused")
        case _:
            return HttpStatus(500, error.detail or "failed")


def _error(server_side: ServerSide, status: HttpStatus) -> _Response:
    text = status.text
    if text is None:
        text = json.dumps(server_side.error(status.status, status.message, status.code))
    content_type = "application/json" if status.text is None else "text/html"
    return _Response(status.status, {"content-type": content_type, **status.headers}, text.encode())


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            path = self.path.partition("?")[0]
            wire = next((wire for ending, wire in _WIRE_OF_PATH.items() if path.endswith(ending)), None)
            if wire is None:
                self.send_error(404)
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = server.answer(ReceivedRequest(path, headers, raw, SERVER_SIDES[wire]))
            if response is None:
                self.close_connection = True
                return
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(response.body) + response.missing))
            self.end_headers()
            self.wfile.write(response.body)
            self.close_connection = self.close_connection or bool(response.missing)
            if response.silent:
                self.wfile.flush()
                server.closing.wait()

        def log_message(self, *_: object) -> None:
            """Log nothing: all requests are in ``requests``."""

    return Handler
