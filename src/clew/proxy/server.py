"""The proxy's server: one thread per client connection, on a loopback address.

``handler.py`` serves a connection; here are the routes to the upstreams and the guard around clew's own code.
**Fail open**: if clew raises an error, the client's own bytes go upstream, and the error is counted in
``x-clew`` and ``/clew/health``.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPResponse
from http.server import ThreadingHTTPServer

from clew.errors import InputError
from clew.proxy.handler import LOOPBACK, ProxyHandler
from clew.proxy.reactor import Reaction, Reactor
from clew.proxy.relay import HttpRequest, Upstream
from clew.proxy.requests import conversation_key, decode, decoded, wire_of
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
