"""Forward one HTTP request to an upstream and its response to the client, byte for byte as it arrives.

Only headers of this hop are changed: hop-by-hop ones, ``host``, ``expect``, the length of a body read whole,
and clew's own. Credentials are forwarded like any other header; nothing is stored or logged. A response that
breaks off upstream breaks off at the client as well.
"""

from __future__ import annotations

import re
import selectors
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from io import BufferedIOBase
from itertools import chain
from typing import NamedTuple
from urllib.parse import urlsplit

from clew.errors import InputError

PIECE = 64 << 10
"""Most bytes that are read at a time; chosen by hand."""
IDLE_SECONDS = 20.0
"""An upstream connection idle for longer is not used again; servers close theirs after 60 s or more."""
HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)
_DECIMAL, _HEXADECIMAL = re.compile(r"[0-9]{1,18}"), re.compile(r"[0-9A-Fa-f]{1,15}")
OWN_HEADERS = "x-clew"
"""Prefix of the headers between the client and clew, which are never forwarded."""
Headers = list[tuple[str, str]]


class UpstreamFailed(Exception):
    """The upstream could not be reached, or closed the connection without a response."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """The base address of an API."""

    scheme: str
    host: str
    port: int | None
    path: str = ""
    """Put in front of the path of every request."""

    @classmethod
    def of(cls, url: str) -> Upstream:
        """Parse a URL such as ``https://api.anthropic.com``."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as cause:
            raise InputError(f"{url!r} is not a URL ({cause})", "use https://HOST[:PORT][/PATH]") from cause
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise InputError(f"{url!r} is not the address of an API", "use https://HOST[:PORT][/PATH]")
        return cls(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))

    @property
    def host_header(self) -> str:
        """Return the value of the ``host`` header."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port is None else f"{name}:{self.port}"


@dataclass(slots=True)
class HttpRequest:
    """A request of the client, or what is sent for it; ``body`` is whole, or an iterator of pieces."""

    method: str
    target: str
    """Path and query, as sent."""
    headers: Headers
    body: bytes | Iterable[bytes] = b""
    chunked: bool = False
    """The body has no known length."""

    def header(self, name: str) -> str:
        """Return the value of a header; empty if it is missing."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def path(self) -> str:
        """Return the path without the query."""
        return self.target.partition("?")[0]


def end_to_end(headers: Headers) -> Headers:
    """Return the headers that are forwarded."""
    listed = ",".join(value for key, value in headers if key.lower() == "connection")
    dropped = HOP_BY_HOP | {name.strip().lower() for name in listed.split(",")}
    return [(key, value) for key, value in headers if key.lower() not in dropped]


class _KeptConnection(NamedTuple):
    """An open connection, and when it was used last."""

    connection: HTTPConnection
    used_at: float


class UpstreamConnections:
    """The upstream connections of one client connection, kept open between its requests."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._open: dict[Upstream, _KeptConnection] = {}

    def send(self, upstream: Upstream, http: HttpRequest) -> HTTPResponse:
        """Send a request and return the response once its headers are there."""
        try:
            connection = self._connection(upstream)
            _write(connection, upstream, http)
            return connection.getresponse()
        except (OSError, HTTPException, UnicodeEncodeError) as cause:  # the last: a path that is not ASCII
            self.drop(upstream)
            raise UpstreamFailed(f"{type(cause).__name__}: {cause}") from cause

    def keep(self, upstream: Upstream) -> None:
        """Keep a connection whose response was read completely."""
        if kept := self._open.get(upstream):
            self._open[upstream] = kept._replace(used_at=time.monotonic())

    def drop(self, upstream: Upstream) -> None:
        """Close a connection, also in the middle of a response."""
        if kept := self._open.pop(upstream, None):
            kept.connection.close()

    def close(self) -> None:
        """Close all connections."""
        for upstream in list(self._open):
            self.drop(upstream)

    def _connection(self, upstream: Upstream) -> HTTPConnection:
        if kept := self._open.get(upstream):
            if time.monotonic() - kept.used_at < IDLE_SECONDS and not _is_closed(kept.connection):
                return kept.connection
            self.drop(upstream)
        kind = HTTPSConnection if upstream.scheme == "https" else HTTPConnection
        connection = kind(upstream.host, upstream.port, timeout=self._timeout)
        self._open[upstream] = _KeptConnection(connection, time.monotonic())
        return connection


def _is_closed(connection: HTTPConnection) -> bool:
    """Whether the other side closed an idle connection: an idle socket has nothing to read otherwise."""
    if connection.sock is None:
        return True
    if isinstance(connection.sock, ssl.SSLSocket) and connection.sock.pending():
        return True
    with selectors.DefaultSelector() as selector:  # `select` alone fails for more than 1,024 open files
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _write(connection: HTTPConnection, upstream: Upstream, http: HttpRequest) -> None:
    """Send a request to the provider: its headers without those of this hop, then its body."""
    connection.putrequest(http.method, upstream.path + http.target, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", upstream.host_header)
    whole, pieces = (http.body, None) if isinstance(http.body, bytes) else (None, http.body)
    for name, value in end_to_end(http.headers):
        key = name.lower()
        if key in ("host", "expect") or key.startswith(OWN_HEADERS):
            continue
        if key == "content-length" and (whole is not None or http.chunked):
            continue
        connection.putheader(name, value.encode("latin-1"))
    if pieces is None:
        if whole or http.method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(whole or b"")))
        connection.endheaders(whole or None)
        return
    if http.chunked:
        connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    for piece in pieces:
        connection.send(b"%x\r\n%b\r\n" % (len(piece), piece) if http.chunked else piece)
    if http.chunked:
        connection.send(b"0\r\n\r\n")


def pieces_of(response: HTTPResponse) -> Iterator[bytes]:
    """Yield a response as it arrives; raise ``UpstreamFailed`` if it breaks off."""
    try:
        while piece := response.read1(PIECE):
            yield piece
    except (OSError, HTTPException, ValueError) as cause:
        raise UpstreamFailed(f"{type(cause).__name__}: {cause}") from cause
    if response.length:
        raise UpstreamFailed(f"{response.length} bytes of the response are missing")


def read_ahead(response: HTTPResponse) -> tuple[bytes | None, Iterator[bytes]]:
    """Read a response to its end; return its body, None if it broke off, and its pieces to relay.

    The pieces end as the response did: with ``UpstreamFailed`` if it broke off.
    """
    pieces, failure = list[bytes](), None
    try:
        for piece in pieces_of(response):
            pieces.append(piece)
    except UpstreamFailed as error:
        failure = error

    def again() -> Iterator[bytes]:
        yield from pieces
        if failure:
            raise failure

    return None if failure else b"".join(pieces), again()


class RequestBody(NamedTuple):
    """The body of a client's request."""

    content: bytes | Iterator[bytes]
    """The whole of it, or its pieces as they arrive."""
    chunked: bool = False
    """The pieces have no known length together."""


def read_body(file: BufferedIOBase, headers: Headers, most: int) -> RequestBody:
    """Return a request's body, whole up to ``most`` bytes and as pieces beyond."""
    names = {key.lower(): value for key, value in headers}
    if "chunked" in names.get("transfer-encoding", "").lower():
        return _read_chunked(_chunks(file), most)
    length = _length(names.get("content-length") or "0", _DECIMAL, 10)
    if length <= most:
        whole = file.read(length)
        if len(whole) < length:
            raise ConnectionError("the client went away while it sent the request")
        return RequestBody(whole)
    return RequestBody(_counted(file, length))


def _length(text: str, digits: re.Pattern[str], base: int) -> int:
    """Parse a length: ``int`` alone would accept ``-1``, ``1_0`` and ``0x2``."""
    if not digits.fullmatch(text):
        raise ConnectionError("a length in the client's request is malformed")
    return int(text, base)


def _read_chunked(pieces: Iterator[bytes], most: int) -> RequestBody:
    read, size = list[bytes](), 0
    for piece in pieces:
        read.append(piece)
        size += len(piece)
        if size > most:
            return RequestBody(chain(read, pieces), chunked=True)
    return RequestBody(b"".join(read))


def _counted(file: BufferedIOBase, length: int) -> Iterator[bytes]:
    """Yield the next ``length`` bytes in pieces."""
    while length:
        piece = file.read(min(PIECE, length))
        if not piece:
            raise ConnectionError("the client went away while it sent the request")
        length -= len(piece)
        yield piece


def _chunks(file: BufferedIOBase) -> Iterator[bytes]:
    """Yield the pieces of a chunked body: each is a line with its size (hexadecimal), then the bytes."""
    while True:
        line = file.readline(1 << 10).decode("latin-1")
        size = _length(line.partition(";")[0].strip(), _HEXADECIMAL, 16)
        if size == 0:
            while file.readline(PIECE) not in (b"\r\n", b"\n", b""):
                pass
            return
        yield from _counted(file, size)
        file.readline(8)


def relay_body(
    response: HTTPResponse,
    out: BufferedIOBase,
    method: str,
    *,
    chunked: bool,
    seen: Callable[[bytes], None] = lambda _: None,
    pieces: Iterator[bytes] | None = None,
) -> int:
    """Write the body of a response to the client as it arrives; return its size. ``seen`` gets each piece.

    ``pieces`` is the body if it was read already (``read_ahead``).
    """
    if method == "HEAD" or response.status in (204, 304):
        with suppress(HTTPException):
            response.read()
        return 0
    size = 0
    for piece in pieces_of(response) if pieces is None else pieces:
        size += len(piece)
        out.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        seen(piece)
    if chunked:
        out.write(b"0\r\n\r\n")
    return size
