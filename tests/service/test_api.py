"""The HTTP API, through a real server and real requests."""

import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from urllib.parse import quote

import pytest

pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: clew[postgres]")
pytest.importorskip("procrastinate", reason="the job engine is not installed: clew[service]")

import uvicorn
from procrastinate.exceptions import ConnectorException

from clew.log.store.postgres import PostgresStore
from clew.service import app as app_module
from clew.service.app import Metrics, Service, Tokens
from clew.service.jobs import Jobs
from clew.service.operations import OPERATIONS
from clew.service.sessions import SessionCache
from tests.postgres import new_schema, the_server

NORTH, SOUTH = "a-token-of-the-north", "a-token-of-the-south"


class Client:
    def __init__(self, url, token=NORTH):
        self.url, self.token = url, token

    def __call__(self, method, path, body=None, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        sent = {
            "Authorization": f"Bearer {self.token}",
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        request = urllib.request.Request(self.url + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)


@contextmanager
def serving(service):
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    bound.listen()  # connections wait until the server runs
    server = uvicorn.Server(uvicorn.Config(service.app(), log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


@pytest.fixture(scope="module")
def service():
    with PostgresStore(the_server().address, schema=new_schema()) as store:
        jobs = Jobs(store, schema=new_schema())
        yield Service(store, SessionCache(store), Tokens({NORTH: "north", SOUTH: "south"}), jobs)
        jobs.close()


@pytest.fixture(scope="module")
def url(service):
    with serving(service) as address:
        yield address


@pytest.fixture
def client(url):
    return Client(url)


def talk(count, start=0):
    return [
        {"role": "assistant" if n % 2 else "user", "content": f"step {n}: some ordinary words " * 40}
        for n in range(start, start + count)
    ]


def test_a_session_goes_through_append_request_preview_compact_undo(client):
    status, done = client("POST", "/v1/sessions/life/messages", {"messages": talk(60), "window": 20_000})
    assert (status, done["ids"][0], done["ids"][-1]) == (200, "m1", "m60")
    status, asked = client("POST", "/v1/sessions/life/request", {"wire": "openai", "fields": {"model": "m"}})
    assert (status, asked["request"]["model"]) == (200, "m")
    clause, *sent = asked["request"]["messages"]  # announces tool results as data, from the second request on
    assert (clause["role"], sent) == ("system", talk(60))
    status, shown = client("POST", "/v1/sessions/life/preview", {"target_tokens": 3_000})
    assert shown["preview"]["tokens_after"] < shown["preview"]["tokens_before"]
    status, compacted = client("POST", "/v1/sessions/life/compact", {"target_tokens": 3_000})
    assert (status, compacted["compaction"]["name"]) == (200, "d1")
    status, undone = client("POST", "/v1/sessions/life/undo", {"newest": "d1"})
    assert (status, undone["undone"]) == (200, ["d1"])
    assert undone["tokens"] == done["tokens"]


def test_rules_recall_and_events(client):
    rule = "Never modify files under legacy/."
    client("POST", "/v1/sessions/ruled/messages", {"messages": [{"role": "user", "content": rule}]})
    assert client("POST", "/v1/sessions/ruled/rules", {"quote": "Answer in French."})[0] == 200
    rules = client("GET", "/v1/sessions/ruled/rules")[1]["rules"]
    assert [one["quote"] for one in rules] == [rule, "Answer in French."]
    assert client("DELETE", f"/v1/sessions/ruled/rules/{rules[1]['id']}")[0] == 200
    assert len(client("GET", "/v1/sessions/ruled/rules")[1]["rules"]) == 1
    status, found = client("POST", "/v1/sessions/ruled/recall", {"query": "files under legacy"})
    assert (status, found["hits"][0]["ref"], found["hits"][0]["text"]) == (200, "m1", rule)
    events = client("GET", "/v1/sessions/ruled/events")[1]["events"]
    assert [one["kind"] for one in events] == ["message", "pin", "pin"]
    assert client("GET", "/v1/sessions/ruled/events?after=2")[1]["events"] == events[2:]


def test_events_are_followed_as_a_stream(client):
    client("POST", "/v1/sessions/seen/messages", {"messages": talk(2)})
    headers = {"Authorization": f"Bearer {NORTH}", "Accept": "text/event-stream", "Last-Event-ID": "1"}
    request = urllib.request.Request(f"{client.url}/v1/sessions/seen/events", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as stream:
        assert [stream.readline() for _ in range(2)] == [b"id: 2\n", b"event: message\n"]
        client("POST", "/v1/sessions/seen/messages", {"messages": talk(1, 2)})
        lines = [stream.readline() for _ in range(4)]
    assert b"id: 3\n" in lines


def test_a_repeated_append_with_the_same_key_appends_nothing(client):
    body = {"messages": talk(3)}
    first = client("POST", "/v1/sessions/once/messages", body, Idempotency_Key="k1")
    client("POST", "/v1/sessions/once/messages", {"messages": talk(1, 3)})
    again = client("POST", "/v1/sessions/once/messages", body, Idempotency_Key="k1")
    assert first[1]["ids"] == again[1]["ids"] == ["m1", "m2", "m3"]
    assert len(client("GET", "/v1/sessions/once/events")[1]["events"]) == 4
    other = client("POST", "/v1/sessions/once/messages", {"messages": talk(2)}, Idempotency_Key="k1")
    assert (other[0], other[1]["error"]["type"]) == (400, "InputError")


def test_a_token_opens_its_own_workspace_only(client, url):
    client("POST", "/v1/sessions/secret/messages", {"messages": talk(1)})
    south = Client(url, SOUTH)
    assert south("GET", "/v1/sessions")[1] == {"sessions": []}
    assert south("POST", "/v1/sessions/secret/request", {})[0] == 404
    assert south("GET", "/v1/sessions/secret/events")[1]["events"] == []
    assert south("DELETE", "/v1/sessions/secret")[1]["forgotten"]["sessions"] == 0
    assert [one["name"] for one in client("GET", "/v1/sessions")[1]["sessions"]].count("secret") == 1
    for token in ("", "wrong", NORTH + "x"):
        status, refused = Client(url, token)("GET", "/v1/sessions")
        assert (status, refused["error"]["type"]) == (401, "Unauthorized")


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{", 400, "not JSON"),
        (b"[1]", 400, "not a JSON object"),
        ({"messages": []}, 400, "messages is missing"),
        ({"messages": "hello"}, 400, "must be of type array"),
        ({"messages": [{"role": "user"}], "colour": 1}, 400, "unknown field 'colour'"),
        ({"messages": [{"nothing": 1}]}, 400, ""),
        ({"messages": [1]}, 400, ""),
        ({"messages": talk(1), "window": -1}, 400, "above zero"),
        ({"messages": talk(1), "window": True}, 400, "must be of type integer"),
        ({"messages": [{"role": "user", "content": "x", "n": float("nan")}]}, 400, "not JSON"),
        ({"messages": talk(1), "person": "a\0b"}, 400, "not printable"),
        ({"messages": talk(1), "person": "a" * 501}, 400, "longer than 500 bytes"),
    ],
)
def test_bad_input_gets_a_typed_error(client, body, status, says):
    code, refused = client("POST", "/v1/sessions/bad/messages", body)
    assert (code, set(refused["error"])) == (status, {"type", "message"})
    assert says in refused["error"]["message"]
    assert client("GET", "/v1/sessions/bad/events")[1]["events"] == []


def test_unknown_paths_and_large_bodies_are_refused(client, monkeypatch):
    assert client("GET", "/v1/nothing")[1]["error"]["type"] == "NotFound"
    assert client("PUT", "/v1/sessions")[0] == 405
    monkeypatch.setattr(app_module, "MOST_BYTES", 1_000)
    status, refused = client("POST", "/v1/sessions/big/messages", {"messages": talk(9)})
    assert (status, refused["error"]["type"]) == (413, "TooLarge")


def test_names_that_the_database_cannot_hold_are_refused(client):
    longest = "".join(chr(0x4E00 + n) for n in range(166))  # 498 bytes that do not compress
    assert client("POST", f"/v1/sessions/{quote(longest)}/messages", {"messages": talk(1)})[0] == 200
    for path in (f"{quote(longest)}abc/messages", f"{'n' * 5_000}/messages", "a%00b/messages"):
        status, refused = client("POST", f"/v1/sessions/{path}", {"messages": talk(1)})
        assert (status, refused["error"]["type"]) == (400, "InputError")
    assert client("DELETE", "/v1/sessions?person=%00")[0] == 400


def refused_appends(url):
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as reply:
        return re.search(
            r'clew_requests_total{operation="append",status="400"} (\d+)', reply.read().decode()
        )[1]


def test_requests_that_end_or_stall_in_the_middle_are_refused(client, url, monkeypatch, caplog):
    begun = f"POST /v1/sessions/half/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {NORTH}\r\n"
    begun += 'Content-Length: 1000\r\n\r\n{"messages":'
    port = int(url.rpartition(":")[2])
    monkeypatch.setattr(app_module, "STALLED_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as stalled:
        stalled.sendall(begun.encode())
        assert stalled.recv(100).startswith(b"HTTP/1.1 400 ")  # the connection is free again
    monkeypatch.undo()
    before = refused_appends(url)
    with socket.create_connection(("127.0.0.1", port)) as ended:
        ended.sendall(begun.encode())
    deadline = time.monotonic() + 20
    while refused_appends(url) == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert client("GET", "/v1/sessions/half/events")[1]["events"] == []
    assert [record for record in caplog.records if record.exc_info] == []  # no traceback for a lost client


def test_a_forgotten_session_is_gone_also_from_the_cache(client):
    client("POST", "/v1/sessions/gone/messages", {"messages": talk(4)})
    assert client("DELETE", "/v1/sessions/gone")[1]["forgotten"]["remaining"] == 0
    assert client("POST", "/v1/sessions/gone/request", {})[0] == 404
    client("POST", "/v1/sessions/gone/messages", {"messages": [{"role": "user", "content": "anew"}]})
    asked = client("POST", "/v1/sessions/gone/request", {"wire": "openai"})[1]["request"]
    assert [one["content"] for one in asked["messages"]] == ["anew"]


def test_sessions_are_forgotten_by_person_and_by_age(client):
    for name, person in (("p1", "ada"), ("p2", "ada"), ("p3", "bob")):
        body = {"messages": talk(1), "person": person}
        assert client("POST", f"/v1/sessions/{name}/messages", body)[0] == 200
        assert client("POST", f"/v1/sessions/{name}/messages", body)[0] == 200  # recorded once
    kinds = [one["kind"] for one in client("GET", "/v1/sessions/p1/events")[1]["events"]]
    assert kinds == ["about", "message", "message"]
    forgotten = client("DELETE", "/v1/sessions?person=ada")[1]["forgotten"]
    assert (forgotten["sessions"], forgotten["remaining"]) == (2, 0)
    assert client("POST", "/v1/sessions/p1/request", {})[0] == 404
    assert client("POST", "/v1/sessions/p3/request", {})[0] == 200
    assert client("DELETE", "/v1/sessions?unchanged_days=1")[1]["forgotten"]["sessions"] == 0
    for wrong in (
        "",
        "?person=",
        "?all=no",
        "?everything=1",
        "?unchanged_days=x",
        "?unchanged_days=999999999",
    ):
        assert client("DELETE", f"/v1/sessions{wrong}")[0] == 400
    assert client("DELETE", "/v1/sessions?all=yes")[1]["forgotten"]["remaining"] == 0
    assert client("GET", "/v1/sessions")[1]["sessions"] == []


def test_health_metrics_and_description(client, url):
    assert client("GET", "/healthz")[1]["status"] == "ok"
    described = client("GET", "/openapi.json")[1]
    operations = {one["operationId"] for path in described["paths"].values() for one in path.values()}
    assert operations == {one.name for one in OPERATIONS}
    client("GET", "/v1/sessions")
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as reply:
        text = reply.read().decode()
    assert 'clew_requests_total{operation="sessions",status="200"}' in text
    assert 'clew_request_seconds_bucket{operation="sessions",le="+Inf"}' in text


def test_metrics_are_recorded_with_opentelemetry():
    pytest.importorskip("opentelemetry.sdk", reason="the OpenTelemetry SDK is not installed: clew[otel]")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    metrics = Metrics(provider.get_meter("clew"))
    with PostgresStore(the_server().address, schema=new_schema()) as store:
        service = Service(store, SessionCache(store), Tokens({NORTH: "north"}), metrics=metrics)
        with serving(service) as address:
            Client(address)("POST", "/v1/sessions/seen/messages", {"messages": talk(1)})
            Client(address, "wrong")("GET", "/v1/sessions")
    metrics.job("compacted")
    (scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
    found = {one.name: list(one.data.data_points) for one in scope.metrics}
    requests = [dict(point.attributes) for point in found["http.server.request.duration"]]
    assert [(one["http.route"], one["http.response.status_code"]) for one in requests] == [
        ("/v1/sessions/{session}/messages", 200),
        ("/v1/sessions", 401),
    ]
    assert [dict(point.attributes) for point in found["clew.jobs"]] == [{"clew.job.result": "compacted"}]
    provider.shutdown()


def test_an_append_succeeds_although_the_queue_of_compactions_cannot_be_reached(service, monkeypatch):
    class Unreachable:
        def defer(self, **_fields):
            raise ConnectorException("server closed the connection")

    monkeypatch.setattr(service.jobs._app, "configure_task", lambda *_given, **_locks: Unreachable())
    with serving(service) as address:
        body = {"messages": talk(60), "window": 6_000}
        status, done = Client(address)("POST", "/v1/sessions/queue/messages", body)
        assert (status, done["compacting"], len(done["ids"])) == (200, False, 60)
        status, refused = Client(address)("POST", "/v1/sessions/queue/compact", {"background": True})
        assert (status, refused["error"]["type"]) == (503, "StoreUnreachable")
