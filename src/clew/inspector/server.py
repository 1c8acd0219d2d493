"""The inspector's server: on a loopback port by default, with a new access token at each start."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

from clew.errors import InputError, MissingExtra

try:
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from clew.inspector.app import RequestGate, inspector
except ImportError as cause:
    raise MissingExtra("the page needs clew[inspector], which is not installed") from cause

from clew.inspector.chat_stream import ModelFactory, PageChats
from clew.inspector.session_pool import SessionPool

LOOPBACK = "127.0.0.1"
WILDCARDS = ("", "0.0.0.0", "::")


REQUEST_SECONDS = 10.0
"""How long a complete request may take to arrive; our own pages send theirs at once. Chosen by hand."""


class TimeoutProtocol(H11Protocol):
    """Closes a connection on which no complete request arrives in time."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start the timer."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Process received data; stop the timer once a request is complete."""
        super().handle_events()
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Start the timer for the next request."""
        self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        self._stop_waiting()
        self._patience = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


@dataclass(slots=True)
class Server:
    """A bound server; ``run`` serves requests."""

    pool: SessionPool
    socket: socket.socket
    model_factory: ModelFactory | None = None
    """Returns the model of a chat; without it, the offline model is used."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @classmethod
    def bind(
        cls, pool: SessionPool, port: int = 0, host: str = LOOPBACK, model_factory: ModelFactory | None = None
    ) -> Server:
        """Bind a port, 0 for any free one; raise ``InputError`` if it is not available."""
        if host in WILDCARDS:
            raise InputError(
                f"{host!r} is not an address that a browser can use", "name an address of this computer"
            )
        socket_ = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        socket_.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            socket_.bind((host, port))
            socket_.listen()  # connections wait until the server runs
        except OSError as cause:
            socket_.close()
            raise InputError(
                f"port {port} of {host} is not available ({cause.strerror})", "choose another --port"
            ) from cause
        return cls(pool, socket_, model_factory)

    @property
    def host(self) -> str:
        """Return the host name and port of the server."""
        name, port = self.socket.getsockname()[:2]
        return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"

    def address(self, session: str = "") -> str:
        """Return the address with the token, optionally of one session.

        The token follows the ``#``, which browsers never send.
        """
        place = f"/s/{quote(session, safe='')}" if session else ""
        return f"http://{self.host}/#token={self.token}{place}"

    @contextlib.contextmanager
    def _uvicorn(self) -> Iterator[uvicorn.Server]:
        chats = PageChats(self.pool, self.model_factory)
        app = inspector(self.pool, RequestGate(self.token, self.host), chats)
        # No access log: addresses contain search terms. Pages that follow a session keep a connection open,
        # so the shutdown does not wait for them.
        config = uvicorn.Config(
            app,
            http=TimeoutProtocol,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        try:
            yield uvicorn.Server(config)
        finally:
            chats.close()

    def run(self) -> None:
        """Serve until stopped."""
        with self._uvicorn() as server:
            server.run(sockets=[self.socket])

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Serve from a thread while the block runs."""
        with self._uvicorn() as server:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [self.socket]}, daemon=True)
            thread.start()
            try:
                yield
            finally:
                server.should_exit = True
                thread.join()
