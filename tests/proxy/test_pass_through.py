"""Everything but compactions passes through the proxy: byte for byte, as it arrives, whatever goes wrong."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from urllib.parse import urlsplit

import pytest

from clew.proxy.reactor import Reaction, RequestReactor
from clew.proxy.relay import HttpRequest, Upstream, UpstreamConnections, UpstreamFailed, read_body
from clew.proxy.server import Proxy, Routes
from clew.proxy.stats import Stats
from clew.testing import HttpStatus, ScriptedServer
from clew.testing.server import BrokenStream


def proxy_to(
    url: str, react: Callable[[HttpRequest], Reaction] | None = None, timeout: float = 20.0
) -> Proxy:
    stats = Stats()
    upstream = Upstream.of(url)
    return Proxy(Routes(upstream, upstream), react or RequestReactor(stats), stats, timeout=timeout)


OPEN: list[http.client.HTTPConnection] = []


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "clew"))
    yield
    while OPEN:
        OPEN.pop().close()


MESSAGES = [{"role": "user", "content": "hello"}]


class Raw:
    """An upstream that records each request and answers with exact bytes, piece by piece."""

    def __init__(self, *pieces: bytes, pause: float = 0.0, after: Callable[[], None] = lambda: None) -> None:
        self.received: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pieces, self._pause, self._after = pieces, pause, after
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.received.append(_whole_request(connection))
                for piece in self._pieces:
                    try:
                        connection.sendall(piece)
                    except OSError:
                        break
                    time.sleep(self._pause)
                self._after()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()


def _whole_request(connection: socket.socket) -> bytes:
    got = b""
    while b"\r\n\r\n" not in got:
        got += connection.recv(65_536)
    head, _, body = got.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        ),
        0,
    )
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


def ask(
    proxy: Proxy,
    method: str = "POST",
    path: str = "/v1/messages?beta=true",
    body: bytes = b"{}",
    **headers: str,
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(proxy.url).netloc, timeout=120)
    OPEN.append(connection)
    connection.request(method, path, body, {key.replace("_", "-"): value for key, value in headers.items()})
    return connection.getresponse()


ODD = b'{ "messages":[{"role":"user","content":"\\u00e9 \xff\\ud800"}] , "n":1.0e2,"n":1 }'


def test_requests_and_responses_are_the_same_bytes():
    answer = b'event: x\ndata: {"a": 1.50}\n\n: ping\n\ndata: \xff\xfe not json\n\n'
    head = b"HTTP/1.1 299 Odd\r\nContent-Length: %d\r\nX-Twice: 1\r\nX-Twice: 2\r\n\r\n" % len(answer)
    with Raw(head + answer) as upstream, proxy_to(upstream.url).running() as proxy:
        got = ask(
            proxy, body=ODD, X_Odd_Case="Kept", anthropic_beta="a,b", x_clew="off", accept_encoding="br"
        )
        assert got.read() == answer
        assert (got.status, got.reason, got.headers.get_all("x-twice")) == (299, "Odd", ["1", "2"])
    head, _, body = upstream.received[0].partition(b"\r\n\r\n")
    assert body == ODD
    assert head.startswith(b"POST /v1/messages?beta=true HTTP/1.1\r\n")
    assert b"\r\nX-Odd-Case: Kept\r\n" in head
    assert b"x-clew" not in head.lower()
    assert b"accept-encoding: br" in head.lower()


@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH", "OPTIONS", "PROPFIND"])
def test_any_method_and_path_is_forwarded(method):
    with (
        Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as upstream,
        proxy_to(upstream.url + "/base/").running() as proxy,
    ):
        assert ask(proxy, method, "/any/path%20here?q=1", b"").read() == b"ok"
    assert upstream.received[0].startswith(f"{method} /base/any/path%20here?q=1 HTTP/1.1".encode())


def test_a_compressed_stream_is_not_decoded():
    packed = gzip.compress(b"data: {}\n\n" * 100)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    with Raw(head + packed) as upstream, proxy_to(upstream.url).running() as proxy:
        got = ask(proxy)
        assert got.read() == packed
        assert got.headers["content-encoding"] == "gzip"


def test_a_connection_is_kept_also_if_over_a_thousand_files_are_open():
    with ScriptedServer(HttpStatus(404), HttpStatus(404)) as server:
        connections, upstream = UpstreamConnections(20.0), Upstream.of(server.url)
        files = [socket.socket() for _ in range(1_100)]
        try:
            for _ in range(2):
                connections.send(upstream, HttpRequest("GET", "/v1/x", [])).read()
                connections.keep(upstream)
        finally:
            connections.close()
            for file in files:
                file.close()


def test_a_path_that_is_not_ascii_is_refused_like_any_other_failure():
    with pytest.raises(UpstreamFailed, match="UnicodeEncodeError"):
        UpstreamConnections(1.0).send(Upstream.of("http://127.0.0.1:9"), HttpRequest("GET", "/v1/ü", []))


def test_a_stream_is_relayed_as_it_arrives():
    pieces = [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"3\r\none\r\n",
        b"3\r\ntwo\r\n",
        b"0\r\n\r\n",
    ]
    with Raw(*pieces, pause=0.3) as upstream, proxy_to(upstream.url).running() as proxy:
        begun = time.monotonic()
        got = ask(proxy)
        first, first_at = got.read1(), time.monotonic() - begun
        rest = got.read()
    assert (first, rest) == (b"one", b"two")
    assert first_at < 0.55  # the stream ends after 0.9 s


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\nzz\r\n"],
    ],
)
def test_a_response_that_breaks_off_breaks_off_at_the_client(pieces):
    with Raw(*pieces) as upstream, proxy_to(upstream.url).running() as proxy:
        got = ask(proxy)
        with pytest.raises((http.client.IncompleteRead, ConnectionError)) as caught:
            got.read()
        if isinstance(caught.value, http.client.IncompleteRead):
            assert caught.value.partial in (b"only this", b"")
        assert proxy.stats["cut_off"] == 1


@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
def test_errors_of_the_upstream_arrive_unchanged(status):
    script = HttpStatus(status, "word for word", headers={"retry-after": "7", "request-id": "r1"})
    with ScriptedServer.always(script) as server, proxy_to(server.url).running() as proxy:
        direct = http.client.HTTPConnection(urlsplit(server.url).netloc)
        body = json.dumps({"model": "m", "max_tokens": 9, "messages": MESSAGES}).encode()
        OPEN.append(direct)
        direct.request("POST", "/v1/messages", body)
        expected = direct.getresponse().read()
        got = ask(proxy, body=body)
        assert (got.status, got.headers["retry-after"], got.headers["request-id"]) == (status, "7", "r1")
        assert got.read() == expected


def test_an_upstream_that_is_not_there_is_an_error_and_not_a_hang():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with proxy_to(f"http://127.0.0.1:{port}").running() as proxy:
        got = ask(proxy)
        assert got.status == 502
        assert "no response from 127.0.0.1" in json.loads(got.read())["error"]["message"]


def test_a_silent_upstream_is_cut_off_after_the_timeout():
    with (
        ScriptedServer(BrokenStream("word " * 100, events=2, silent=True)) as server,
        proxy_to(server.url, timeout=0.5).running() as proxy,
    ):
        body = {"model": "m", "max_tokens": 9, "stream": True, "messages": MESSAGES}
        got = ask(proxy, body=json.dumps(body).encode())
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            got.read()


def test_a_client_that_goes_away_ends_the_upstream_request():
    ended = threading.Event()
    pieces = [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        *[b"400\r\n" + b"x" * 1024 + b"\r\n"] * 200,
    ]
    with Raw(*pieces, pause=0.01, after=ended.set) as upstream, proxy_to(upstream.url).running() as proxy:
        client = socket.create_connection(urlsplit(proxy.url).netloc.split(":"))
        client.sendall(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
        client.recv(1000)
        client.close()
        assert ended.wait(1.5)  # the whole stream takes 2 s
        assert proxy.stats["client_gone"] == 1


def test_an_error_of_clew_sends_the_clients_own_bytes(caplog):
    def broken(_: HttpRequest) -> Reaction:
        raise RuntimeError("a bug")

    with (
        Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as upstream,
        proxy_to(upstream.url, broken).running() as proxy,
    ):
        got = ask(proxy, body=ODD)
        assert got.read() == b"ok"
        assert got.headers["x-clew"] == "failed-open; RuntimeError"
        health = json.loads(ask(proxy, "GET", "/clew/health", b"").read())
    assert upstream.received[0].endswith(b"\r\n\r\n" + ODD)
    assert health["counts"]["failed_open"] == 1
    assert "a bug" in caplog.text


class Counting(BaseHTTPRequestHandler):
    """Counts the bytes of uploads."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        size = 0
        if self.headers.get("transfer-encoding") == "chunked":
            while chunk := int(self.rfile.readline(), 16):
                size += len(self.rfile.read(chunk))
                self.rfile.readline()
            self.rfile.readline()
        while size < length:
            size += len(self.rfile.read(min(65_536, length - size)))
        body = str(size).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def counting() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["/v1/files", "/v1/messages"])
@pytest.mark.parametrize("megabytes", [1, 80])
def test_large_uploads_of_known_length_are_forwarded(counting, path, megabytes):
    with proxy_to(counting).running() as proxy:
        assert ask(proxy, path=path, body=b"x" * (megabytes << 20)).read() == str(megabytes << 20).encode()


@pytest.mark.parametrize("path", ["/v1/files", "/v1/messages"])
def test_uploads_of_unknown_length_are_forwarded(counting, path):
    with proxy_to(counting).running() as proxy:
        connection = http.client.HTTPConnection(urlsplit(proxy.url).netloc, timeout=120)
        OPEN.append(connection)
        connection.request("POST", path, iter([b"x" * 70_000, b"y" * 5]), encode_chunked=True)
        assert connection.getresponse().read() == b"70005"
        connection.request("POST", path, b"again")  # the connection is still usable
        assert connection.getresponse().read() == b"5"


def test_a_websocket_is_refused_so_that_clients_use_http():
    with proxy_to("http://127.0.0.1:1").running() as proxy:
        got = ask(proxy, "GET", "/v1/responses", b"", Connection="Upgrade", Upgrade="websocket")
        assert (got.status, got.headers["x-clew"]) == (426, "refused; websocket")
        assert "use HTTP" in json.loads(got.read())["error"]["message"]


def test_pages_of_other_sites_cannot_read_the_health():
    with proxy_to("http://127.0.0.1:1").running() as proxy:
        assert ask(proxy, "GET", "/clew/health", b"", Host="evil.example:80").status == 404
        assert ask(proxy, "GET", "/clew/health", b"").status == 200


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (("content-length", "-1"), b"x"),
        (("content-length", "1_0"), b"x" * 10),
        (("transfer-encoding", "chunked"), b"-2\r\nabcd\r\n"),
        (("transfer-encoding", "chunked"), b"0x2\r\nab\r\n0\r\n\r\n"),
    ],
)
def test_a_malformed_length_is_refused(header: tuple[str, str], body: bytes):
    with pytest.raises(ConnectionError, match="malformed"):
        read_body(BytesIO(body), [header], 1 << 20)
