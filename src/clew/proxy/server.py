"""The proxy's server: one thread per client connection, on a loopback address.

``Proxy`` has the routes to the upstreams and the guard around clew's own code. ``ProxyHandler`` serves one
connection: a request is answered by clew itself, or forwarded: as it is, with another body, and once more
with a shorter body if the provider refused it as too long.

**Fail open**: if clew raises an error, the client's own bytes go upstream, and the error is counted in
``x-clew`` and ``/clew/health``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.client import HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from clew.errors import InputError
from clew.proxy.reactor import PASS, Reaction, Reactor
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
from clew.proxy.requests import ENCODINGS, MODES, conversation_key, decode, decoded, requested_mode, wire_of
from clew.proxy.stats import Stats, UsageReader

log = logging.getLogger("clew.proxy")
TIMEOUT_SECONDS = 600.0
"""How long an upstream may be silent: models think for minutes. The providers' own SDKs wait as long."""
ANTHROPIC_URL = "https://api.anthropic.com"
OPENAI_URL = "https://api.openai.com"
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]{1,200})"')
"""The model that a request names; a quote inside of a message is escaped."""


@dataclass(frozen=True, slots=True)
class Routes:
    """Which upstream a request goes to."""

    anthropic: Upstream = field(default_factory=lambda: Upstream.of(ANTHROPIC_URL))
    openai: Upstream = field(default_factory=lambda: Upstream.of(OPENAI_URL))
    by_prefix: tuple[tuple[str, Upstream], ...] = ()
    """Path prefixes with an upstream of their own; the first match is used."""

    def upstream(self, http: HttpRequest) -> Upstream:
        """Return the upstream of a request: by path prefix, else by API."""
        for prefix, upstream in self.by_prefix:
            if http.path == prefix or http.path.startswith(prefix.rstrip("/") + "/"):
                return upstream
        is_anthropic = http.header("anthropic-version") or wire_of(http.path) == "anthropic"
        return self.anthropic if is_anthropic else self.openai


class Proxy:
    """A bound proxy; ``run`` serves until ``stop``."""

    def __init__(
        self,
        routes: Routes,
        react: Reactor,
        stats: Stats | None = None,
        port: int = 0,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self.routes, self.react, self.timeout = routes, react, timeout
        self.stats = stats or Stats()
        self._reported: set[str] = set()
        try:
            self._http = _Server((LOOPBACK, port), type("BoundHandler", (ProxyHandler,), {"owner": self}))
        except OSError as cause:
            raise InputError(
                f"port {port} is not available ({cause.strerror})", "choose another --port"
            ) from cause

    @property
    def url(self) -> str:
        """Return the address of the proxy; clients of OpenAI append ``/v1``."""
        return f"http://{LOOPBACK}:{self._http.server_address[1]}"

    def run(self) -> None:
        """Serve until ``stop`` is called."""
        self._http.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        """Stop serving; open responses are cut off when the process ends."""
        self._http.shutdown()
        self._http.server_close()

    @contextlib.contextmanager
    def running(self) -> Iterator[Proxy]:
        """Serve from a thread while the block runs."""
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.stop()
            thread.join()

    def reaction(self, http: HttpRequest) -> Reaction:
        """Return what clew makes of a request; after an error in clew, the request is forwarded as it is."""
        try:
            return self.react(http)
        except Exception as error:  # noqa: BLE001  # in front of another program: report it, never break it
            return self.count_error(error)

    def make_answer(self, reaction: Reaction, status: int, data: bytes) -> Reaction | None:
        """Return the answer that clew makes of an upstream's response; None after an error in clew."""
        try:
            return reaction.finish(status, data) if reaction.finish else None
        except Exception as error:  # noqa: BLE001  # the client's own request is forwarded instead
            self.count_error(error)
            return None

    def shorter_body(self, reaction: Reaction, response: HTTPResponse, refusal: bytes) -> bytes | None:
        """Return a shorter body to send after an error response; None if there is none or clew fails."""
        try:
            plain = decode(refusal, response.getheader("content-encoding") or "")
            return reaction.retry(response.status, plain) if reaction.retry else None
        except Exception as error:  # noqa: BLE001  # the upstream's own error goes to the client
            self.count_error(error)
            return None

    def record_usage(self, client: HttpRequest, reaction: Reaction, reader: UsageReader) -> None:
        """Record the usage that a response reported."""
        usage = reader.usage if isinstance(client.body, bytes) and wire_of(client.path) else None
        if usage is None:
            return
        try:
            raw = decoded(client)
            growth = len(raw) / len(reaction.body) if reaction.body and reaction.shortened else 1.0
            with self.stats.conversation(conversation_key(client, raw)) as stats:
                match = _MODEL.search(raw)
                stats.model = match[1].decode("utf-8", "replace") if match else stats.model
                stats.add_usage(usage, growth, rewritten=reaction.rewritten)
        except Exception:  # noqa: BLE001  # figures only
            self.stats.count("not_counted")

    def count_error(self, error: Exception) -> Reaction:
        """Count an error of clew, and log the first of its kind."""
        self.stats.count("failed_open")
        kind = type(error).__name__
        if kind not in self._reported:
            self._reported.add(kind)
            log.warning("clew forwarded a request unchanged: %s: %s", kind, error)
        return Reaction(label=f"failed-open; {kind}")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that went away; log anything else, without the content of requests."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            log.warning("a connection failed: %s", type(error).__name__)


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
