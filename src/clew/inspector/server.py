"""Starting the server: on this computer only, behind a token that is new each time."""

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

    from clew.inspector.app import inspector
    from clew.inspector.guard import Gate
except ImportError as cause:
    raise MissingExtra("clew[inspector]", "pip install 'clew[inspector]' brings the server") from cause

from clew.inspector.chat_stream import ModelFactory, PageChats
from clew.inspector.session_pool import SessionPool

LOOPBACK = "127.0.0.1"
WILDCARDS = ("", "0.0.0.0", "::")


REQUEST_SECONDS = 10.0
"""How long a request may take to arrive whole; a page sends its own at once."""


class TimeoutProtocol(H11Protocol):
    """Closes a connection on which no whole request arrives in time."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Take in what arrived; once a request is whole, its answer may take as long as it takes."""
        super().handle_events()
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
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
    """A server that was begun."""

    pool: SessionPool
    socket: socket.socket
    model_factory: ModelFactory | None = None
    """Gives the models that chats talk to; without one the offline model answers."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @classmethod
    def bind(
        cls, pool: SessionPool, port: int = 0, host: str = LOOPBACK, model_factory: ModelFactory | None = None
    ) -> Server:
        """Take a port, or any that is free; one that is taken is an ``InputError``."""
        if host in WILDCARDS:
            raise InputError(
                f"{host!r} is no address that a browser can name", "name one of this computer's own"
            )
        taken = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((host, port))
            taken.listen()  # whoever comes before the first answer waits
        except OSError as cause:
            taken.close()
            raise InputError(
                f"port {port} of {host} cannot be had ({cause.strerror})", "give another --port"
            ) from cause
        return cls(pool, taken, model_factory)

    @property
    def host(self) -> str:
        """Return the name that the server goes by."""
        name, port = self.socket.getsockname()[:2]
        return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"

    def address(self, session: str = "") -> str:
        """Return the address that lets a person in, at a session where one is named.

        The token stands behind the ``#``, which browsers send to nobody.
        """
        place = f"/s/{quote(session, safe='')}" if session else ""
        return f"http://{self.host}/#token={self.token}{place}"

    @contextlib.contextmanager
    def _uvicorn(self) -> Iterator[uvicorn.Server]:
        chats = PageChats(self.pool, self.model_factory)
        app = inspector(self.pool, Gate(self.token, self.host), chats)
        # No access log: addresses hold what people look for. Pages that follow a session never end of
        # themselves.
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
        """Answer until somebody stops it."""
        with self._uvicorn() as server:
            server.run(sockets=[self.socket])

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Answer from a thread while the caller does something else."""
        with self._uvicorn() as server:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [self.socket]}, daemon=True)
            thread.start()
            try:
                yield
            finally:
                server.should_exit = True
                thread.join()
