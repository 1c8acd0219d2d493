"""Only the person at this computer gets in, and only our own pages may change anything."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Mapping
from contextlib import closing
from email.message import Message
from typing import NamedTuple
from urllib.parse import quote

import pytest

from clew.errors import InputError
from clew.inspector.app import _VIEWS, TOKEN
from clew.inspector.server import Server
from tests.inspector.house import TOUR, House


class Reply(NamedTuple):
    """What the server answered."""

    status: int
    headers: Message
    body: bytes

    def getheader(self, name: str) -> str | None:
        return self.headers.get(name)


def ask(
    server: Server,
    path: str = "/api/sessions",
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: str = "",
) -> Reply:
    """Send a request as it is, whatever it says of itself."""
    port = server.socket.getsockname()[1]
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        sent = {
            "host": server.host,
            "content-length": str(len(body)),
            "connection": "close",
            **(headers or {}),
        }
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders(body.encode())
        with connection.getresponse() as answer:
            return Reply(answer.status, answer.headers, answer.read())


@pytest.fixture
def known(server: Server) -> dict[str, str]:
    return {TOKEN: server.token}


def same_origin(server: Server) -> dict[str, str]:
    return {"origin": f"http://{server.host}", "sec-fetch-site": "same-origin"}


UNDO = json.dumps({"session": TOUR, "does": "undo"})


def test_the_token_lets_a_person_in_and_no_cookie_is_ever_set(server: Server, known: dict[str, str]):
    for path in ("/", "/static/app.js", "/api/sessions"):
        answer = ask(server, path, headers=known)
        assert (answer.status, answer.getheader("set-cookie")) == (200, None)


def test_the_token_stands_where_browsers_send_it_to_nobody(server: Server):
    before, _, behind = server.address("a/b").partition("#")
    assert (before, behind) == (f"http://{server.host}/", f"token={server.token}/s/a%2Fb")


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/static/views/chat.js"])
def test_the_pages_own_files_say_nothing_of_a_session_and_need_no_token(
    server: Server, shared: House, path: str
):
    answer = ask(server, path)
    assert (answer.status, TOUR.encode() in answer.body) == (200, False)


@pytest.mark.parametrize(
    "path",
    [
        *(f"/api/{name}?session=x" for name in _VIEWS),
        *("/api/sessions", "/api/about", "/api/follow?session=x", "/api/act", "/api/say", "/nowhere"),
        *("//api/sessions", "/static/../api/sessions", "/api/sessions?token={token}"),
    ],
)
def test_without_the_token_nothing_else_is_shown(server: Server, path: str):
    answer = ask(server, path.replace("{token}", server.token))
    assert answer.status in (403, 404)
    assert TOUR.encode() not in answer.body


@pytest.mark.parametrize("value", ["", "guess", "{token}x", "{token}, {token}", "é"])
def test_a_token_that_was_guessed_is_no_use(server: Server, value: str):
    assert ask(server, headers={TOKEN: value.replace("{token}", server.token)}).status == 403


def test_a_cookie_is_no_use_whatever_it_holds(server: Server):
    name = f"clew-{server.host.rpartition(':')[2]}"
    headers = {"cookie": f"{name}={server.token}; {TOKEN}={server.token}; token={server.token}"}
    assert ask(server, headers=headers).status == 403
    assert ask(server, "/api/act", "POST", {**headers, **same_origin(server)}, UNDO).status == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "localhost.evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""],
)
def test_a_name_that_was_made_to_point_here_is_refused(server: Server, known: dict[str, str], host: str):
    port = server.host.rpartition(":")[2]
    assert ask(server, headers={**known, "host": host.replace("{port}", port)}).status == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"]
)
def test_a_page_of_another_origin_may_not_even_look(server: Server, known: dict[str, str], origin: str):
    port = server.host.rpartition(":")[2]
    assert ask(server, headers={**known, "origin": origin.replace("{port}", port)}).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_a_change_that_another_site_asks_for_is_refused(
    server: Server, shared: House, known: dict[str, str], site: str
):
    with shared.pool.open(TOUR) as handle:
        before = handle.message_index.upto
    headers = {**known, "origin": f"http://{server.host}", "sec-fetch-site": site}
    assert ask(server, "/api/act", "POST", headers, UNDO).status == 403
    with shared.pool.open(TOUR) as handle:
        assert handle.message_index.upto == before


def test_a_change_that_does_not_say_where_it_comes_from_is_refused(server: Server, known: dict[str, str]):
    assert ask(server, "/api/act", "POST", known, UNDO).status == 403


def test_a_change_is_never_made_by_looking(server: Server, known: dict[str, str]):
    assert ask(server, "/api/act", "GET", {**known, **same_origin(server)}).status == 405


def test_other_sites_may_not_read_by_embedding(server: Server, known: dict[str, str]):
    headers = {**known, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert ask(server, "/api/sessions", headers=headers).status == 403


def test_every_answer_tells_the_browser_to_be_strict(server: Server, known: dict[str, str]):
    for answer in (ask(server, headers=known), ask(server), ask(server, "/nowhere", headers=known)):
        policy = answer.getheader("content-security-policy")
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert answer.getheader("x-content-type-options") == "nosniff"
        assert answer.getheader("referrer-policy") == "no-referrer"
        assert answer.getheader("cache-control") == "no-store"
        assert answer.getheader("access-control-allow-origin") is None
        assert answer.getheader("server") is None


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fguard.py", "/static//etc/passwd"]
)
def test_only_the_pages_own_files_are_served(server: Server, known: dict[str, str], path: str):
    assert ask(server, path, headers=known).status == 404


def test_what_is_sent_is_bounded_and_must_be_an_object(server: Server, known: dict[str, str]):
    headers = {**known, **same_origin(server)}
    for body in ("x" * 300_000, "[]", "{", "", '{"session":' + "[" * 100_000, f'{{"session":{"9" * 5_000}}}'):
        assert ask(server, "/api/act", "POST", headers, body).status == 400


def test_a_number_without_end_is_no_message(server: Server, known: dict[str, str]):
    wish = {"session": TOUR, "does": "keep", "text": "hi", "source": "m" + "9" * 5_000}
    answer = ask(server, "/api/act", "POST", {**known, **same_origin(server)}, json.dumps(wish))
    assert (answer.status, "there is no message m999" in answer.body.decode()) == (400, True)


def test_what_is_not_there_is_said_in_words(server: Server, known: dict[str, str]):
    answer = ask(server, "/api/page?session=nobody", headers=known)
    assert (answer.status, json.loads(answer.body)["error"]) == (
        404,
        "there is no session 'nobody': choose one from the list of sessions",
    )


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
def test_all_addresses_at_once_are_none_that_can_be_checked(shared: House, host: str):
    with pytest.raises(InputError, match="not an address that a browser can use"):
        Server.bind(shared.pool, host=host)


def test_two_starts_have_two_tokens(shared: House):
    first, second = Server.bind(shared.pool), Server.bind(shared.pool)
    assert first.token != second.token
    assert len(first.token) >= 40
    for one in (first, second):
        assert one.socket.getsockname()[0] == "127.0.0.1"
        one.socket.close()


@pytest.mark.parametrize(
    "half",
    [
        b"",
        b"GET /api/sessions HTTP/1.1\r\nHost: x",
        b"POST /api/act HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
    ],
)
def test_a_request_that_never_arrives_whole_is_given_up(
    shared: House, monkeypatch: pytest.MonkeyPatch, half: bytes
):
    monkeypatch.setattr("clew.inspector.server.REQUEST_SECONDS", 0.5)
    server = Server.bind(shared.pool)
    with server.running():
        with closing(socket.create_connection(server.socket.getsockname()[:2], timeout=20)) as slow:
            slow.sendall(half)
            while slow.recv(4_096):  # what is refused at once is answered first
                pass
        assert ask(server, headers={TOKEN: server.token}).status == 200


def test_an_answer_may_take_longer_than_a_request(shared: House, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("clew.inspector.server.REQUEST_SECONDS", 0.3)
    server = Server.bind(shared.pool)
    place = server.socket.getsockname()[:2]
    with server.running(), closing(socket.create_connection(place, timeout=20)) as page:
        path = f"/api/follow?session={quote(TOUR, safe='')}"
        page.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {server.host}\r\n{TOKEN}: {server.token}\r\n\r\n".encode()
        )
        assert page.recv(12) == b"HTTP/1.1 200"
        time.sleep(1.5)
        page.settimeout(0.2)
        with contextlib.suppress(TimeoutError):
            while got := page.recv(65_536):
                pass
            assert got  # closed
