"""Serve the requests of one client connection: read a request, react to it, relay the response.

A request is answered by clew itself, or forwarded: as it is, with another body, and once more with a shorter
body if the provider refused it as too long.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.client import HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

from clew.proxy.reactor import PASS, Reaction
from clew.proxy.relay import (
    Headers,
    HttpRequest,
    Upstream,
    UpstreamConnections,
    UpstreamFailed,
    end_to_end,
    read_ahead,
    read_body,
    relay_body,
)
from clew.proxy.requests import ENCODINGS, MODES, requested_mode, wire_of
from clew.proxy.stats import UsageReader

if TYPE_CHECKING:
    from clew.proxy.server import Proxy

LOOPBACK = "127.0.0.1"
WHOLE_BYTES = 64 << 20
"""Bodies of up to this size are looked at; Anthropic's limit is 32 MB. Larger ones are only forwarded."""


class ProxyHandler(BaseHTTPRequestHandler):
    """Serves one client connection; a subclass for each proxy sets ``owner``."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: Proxy

    def setup(self) -> None:
        """Prepare the upstream connections of this client."""
        super().setup()
        self.upstreams = UpstreamConnections(self.owner.timeout)

    def finish(self) -> None:
        """Close them when the client has gone."""
        self.upstreams.close()
        with contextlib.suppress(OSError):
            super().finish()

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):  # any method
            return self._serve
        raise AttributeError(name)

    def _serve(self) -> None:
        headers = [(key, str(value)) for key, value in self.headers.items()]
        if self.path.startswith("/clew/"):
            self._own_page()
            return
        self.owner.stats.count("requests")
        if self.headers.get("upgrade", "").lower() == "websocket":
            self._refuse_websocket()
            return
        cpu = time.thread_time()
        try:
            self._react(headers)
        finally:
            self.owner.stats.add_cpu((time.thread_time() - cpu) * 1_000)

    def _refuse_websocket(self) -> None:
        """Answer that a WebSocket is not available; Codex then sends its requests over HTTP at once."""
        error = {
            "message": "clew proxy: WebSockets are not supported, use HTTP",
            "type": "invalid_request_error",
        }
        self.close_connection = True
        body = json.dumps({"error": error}).encode()
        self._send(426, "application/json", body, [("x-clew", "refused; websocket"), ("connection", "close")])

    def _react(self, headers: Headers) -> None:
        """Read the request, and answer or forward it."""
        most = WHOLE_BYTES if wire_of(self.path.partition("?")[0]) else 0
        body = read_body(self.rfile, headers, most)
        http = HttpRequest(self.command, self.path, headers, body.content, body.chunked)
        started = time.perf_counter()
        reaction = self.owner.reaction(http)
        spent = (time.perf_counter() - started) * 1_000
        self.owner.stats.add_overhead(spent)
        own = [("x-clew", reaction.label), ("x-clew-overhead-ms", f"{spent:.1f}")]
        if requested_mode(http) is None:
            own.append(("x-clew-ignored", f"x-clew is not one of {', '.join(MODES)}"))
        if reaction.status:
            self._send(reaction.status, reaction.kind, reaction.body or b"", own)
        else:
            self._forward(http, reaction, own)

    def _forward(self, http: HttpRequest, reaction: Reaction, own: Headers) -> None:
        """Send a request to the provider, changed as the reaction says, and relay its response.

        ``own`` are the headers that clew adds to the response.
        """
        upstream, client = self.owner.routes.upstream(http), http
        if reaction.finish and self._answer_from_response(upstream, http, reaction, own):
            return
        if reaction.body is not None and not reaction.finish:
            http = _with_body(http, reaction.body)
        if reaction.retry:
            http = replace(http, headers=_accepting_readable(http.headers))
        pieces = None
        try:
            response = self.upstreams.send(upstream, http)
            if reaction.retry and response.status in (400, 413):
                refusal, pieces = read_ahead(response)
                shorter = None if refusal is None else self.owner.shorter_body(reaction, response, refusal)
                if shorter is not None:
                    self._release(upstream, response)
                    own.append(("x-clew-retried", "prompt-too-long"))
                    response = self.upstreams.send(upstream, _with_body(http, shorter))
                    pieces = None
        except UpstreamFailed as error:
            self.owner.stats.count("upstream_failed")
            text = f"clew proxy: no response from {upstream.host_header} ({error})"
            made = json.dumps({"type": "error", "error": {"type": "api_error", "message": text}})
            self.close_connection = True
            self._send(502, "application/json", made.encode(), own)
            return
        reader = UsageReader(response.getheader("content-encoding") or "")
        if self._relay(upstream, response, http.method, own, reader, pieces):
            self.owner.record_usage(client, reaction, reader)

    def _relay(
        self,
        upstream: Upstream,
        response: HTTPResponse,
        method: str,
        own: Headers,
        reader: UsageReader,
        pieces: Iterator[bytes] | None = None,
    ) -> bool:
        """Pass a response on as it arrives, or its ``pieces`` if it was read already.

        False if the provider or the client broke off.
        """
        chunked = response.length is None and method != "HEAD" and response.status >= 200
        chunked = chunked and response.status not in (204, 304) and self.request_version != "HTTP/1.0"
        self.send_response_only(response.status, response.reason)
        coding = [("transfer-encoding", "chunked")] if chunked else []
        for name, value in (*end_to_end(response.getheaders()), *own, *coding):
            self.send_header(name, value)
        self.end_headers()
        try:
            sent = relay_body(response, self.wfile, method, chunked=chunked, seen=reader.add, pieces=pieces)
        except UpstreamFailed:
            self.owner.stats.count("cut_off")
            self.upstreams.drop(upstream)
            self.close_connection = True
            with contextlib.suppress(OSError):  # in the middle, so that the client sees that it is incomplete
                self.connection.shutdown(socket.SHUT_RDWR)
            return False
        except OSError:
            self.owner.stats.count("client_gone")
            self.upstreams.drop(upstream)
            self.close_connection = True
            return False
        self.owner.stats.count("bytes", sent)
        self._release(upstream, response)
        return True

    def _release(self, upstream: Upstream, response: HTTPResponse) -> None:
        """Keep the connection of a response that was read to its end, unless the provider closes it."""
        response.close()
        if response.will_close:
            self.upstreams.drop(upstream)
        else:
            self.upstreams.keep(upstream)

    def _answer_from_response(
        self, upstream: Upstream, client: HttpRequest, reaction: Reaction, own: Headers
    ) -> bool:
        """Answer with what clew makes of the upstream's responses; False if clew failed."""
        plain = [(key, value) for key, value in client.headers if key.lower() != "accept-encoding"]
        answer: Reaction | None = reaction
        while answer and answer.finish:
            status, data = 0, b""
            http = _with_body(replace(client, headers=plain), answer.body or b"")
            with contextlib.suppress(UpstreamFailed, OSError, HTTPException):
                response = self.upstreams.send(upstream, http)
                status, data = response.status, response.read()
            self.upstreams.drop(upstream)
            answer = self.owner.make_answer(answer, status, data)
            reader = UsageReader()
            reader.add(data)
            self.owner.record_usage(client, PASS, reader)
        if answer is None:
            return False
        own[0] = ("x-clew", answer.label)
        self._send(answer.status, answer.kind, answer.body or b"", own)
        return True

    def _send(self, status: int, kind: str, body: bytes, own: Headers) -> None:
        """Send clew's own answer."""
        self.send_response_only(status)
        for name, value in (("content-type", kind), ("content-length", str(len(body))), *own):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _own_page(self) -> None:
        """Answer ``/clew/health``, to this computer only."""
        host = self.headers.get("host", "").rpartition(":")[0]
        known = self.path.partition("?")[0] == "/clew/health" and host in (LOOPBACK, "localhost")
        status, value = (200, self.owner.stats.report()) if known else (404, {"error": "not found"})
        self._send(status, "application/json", json.dumps(value).encode(), [])

    def log_message(self, *_: object) -> None:
        """Log nothing: paths and headers may hold credentials."""


def _with_body(http: HttpRequest, body: bytes) -> HttpRequest:
    """Return a request with another body, which is not compressed."""
    headers = [(key, value) for key, value in http.headers if key.lower() != "content-encoding"]
    return HttpRequest(http.method, http.target, headers, body)


def _accepting_readable(headers: Headers) -> Headers:
    """Return headers that accept only encodings which clew can decode, so that it can read an error."""

    def readable(accepted: str) -> str:
        encodings = [one.strip() for one in accepted.split(",")]
        known = [one for one in encodings if one.partition(";")[0].strip().lower() in ENCODINGS]
        return ", ".join(known) or "identity"

    return [(key, readable(value) if key.lower() == "accept-encoding" else value) for key, value in headers]
