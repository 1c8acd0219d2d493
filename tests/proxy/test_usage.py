"""Usage is read out of relayed responses, and every conversation is billed with and without clew."""

from __future__ import annotations

import gzip
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from clew.message import Role, Usage, text_message
from clew.providers.model import Reply
from clew.providers.server_side import SERVER_SIDES
from clew.proxy.reactor import RequestReactor
from clew.proxy.stats import ConversationStats, Stats, UsageReader
from clew.testing import ScriptedServer
from tests.proxy.test_answers import TASK, body, summary, work
from tests.proxy.test_pass_through import ask, home, proxy_to  # noqa: F401  # a fixture


def eventually(holds: Callable[[], object]) -> bool:
    """Wait for figures, which are counted after the response is sent."""
    ends = time.monotonic() + 20
    while not holds() and time.monotonic() < ends:
        time.sleep(0.01)
    return bool(holds())


USAGE = Usage(input_tokens=50_000, output_tokens=70, cache_read_tokens=48_000)


@pytest.mark.parametrize("piece", [1, 7, 10_000])
@pytest.mark.parametrize("encoding", ["", "gzip"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", SERVER_SIDES)
def test_usage_is_read_from_every_api(wire, stream, encoding, piece):
    api = SERVER_SIDES[wire]
    text = '{"usage": {"input_tokens": 1}} ' * 5_000  # text of the model that looks like a usage
    asked = {"model": "m", "stream": stream, "stream_options": {"include_usage": True}}
    value = api.response(Reply(text_message(Role.ASSISTANT, text), usage=USAGE), asked, 1)
    raw = ("".join(api.stream(value, asked)) if stream else json.dumps(value)).encode()
    raw = gzip.compress(raw) if encoding else raw
    reader = UsageReader(encoding)
    for start in range(0, len(raw), piece):
        reader.add(raw[start : start + piece])
    assert reader.usage == USAGE


@pytest.mark.parametrize("raw", [b"", b'"usage": ', b'"usage": {"input_tokens": "many"}', b"\xff" * 99])
def test_an_odd_response_has_no_usage(raw):
    reader = UsageReader()
    reader.add(raw)
    assert reader.usage is None
    for encoding in ("gzip", "br"):
        reader = UsageReader(encoding)
        reader.add(raw)
        assert reader.usage is None


def test_a_compaction_in_flight_is_billed_against_the_clients_own_requests():
    one = ConversationStats("claude-sonnet-4-5")
    one.add_usage(Usage(100_000, 100, 0, 100_000), 1.0, rewritten=False)
    assert one.cost == one.cost_without
    one.add_compaction(100_000, 30_000, answered=False)
    one.add_usage(Usage(30_000, 100, 10_000, 20_000), 101 / 30, rewritten=True)  # 101,000 by the client
    assert one.cost > one.cost_without  # the first request after a compaction costs more
    for n in range(2, 60):
        size = 30_000 + 1_000 * n
        one.add_usage(Usage(size, 100, size - 1_000, 1_000), (100_000 + 1_000 * n) / size, rewritten=False)
    assert one.cost_without == 989_850  # 100,000 written, then 59 requests that read all and write 1,000
    assert one.cost < 0.61 * one.cost_without
    report = one.report()
    assert report["unit"] == "US dollars"
    assert report["compactions"] == 1


def test_a_conversation_without_compactions_costs_the_same():
    one = ConversationStats("claude-sonnet-4-5")
    for n in range(1, 20):
        one.add_usage(Usage(1_000 * n, 50, 1_000 * (n - 1), 1_000), 1.0, rewritten=False)
    assert one.cost == one.cost_without


def test_the_health_bills_an_answered_compaction():
    reply = Reply(text_message(Role.ASSISTANT, "from upstream"), usage=USAGE)
    with ScriptedServer.always(reply, strict=False) as server, proxy_to(server.url).running() as proxy:
        messages = [TASK, *work(0, 30)]
        ask(proxy, body=body(messages), x_claude_code_session_id="s1").read()
        assert eventually(lambda: proxy.stats.report()["conversations"])
        got = ask(proxy, body=summary(messages), x_claude_code_session_id="s1")
        got.read()
        health = json.loads(ask(proxy, "GET", "/clew/health", b"").read())
    (one,) = health["conversations"].values()
    assert one["session"] == got.headers["x-clew"].split()[1]
    assert (one["requests"], one["cache_reads"], one["compactions"]) == (1, 48_000, 1)
    assert 0 < one["cost"] < one["cost_without"]


def test_the_figures_are_bounded():
    stats = Stats()
    for n in range(1_000):
        with stats.conversation(str(n)) as one:
            one.add_compaction(2, 1, answered=True)
    assert len(stats.report()["conversations"]) == 256


def test_the_page_is_served_by_the_same_process():
    pytest.importorskip("uvicorn")
    from clew.cli.inspect import page_of_proxy

    stats = Stats()
    stats.count("requests")
    with page_of_proxy(stats.report) as address:
        parts = urlsplit(address)
        token = parts.fragment.removeprefix("token=")
        for headers, status in (({}, 403), ({"x-clew-token": token}, 200)):
            connection = http.client.HTTPConnection(parts.netloc, timeout=60)
            connection.request("GET", "/api/proxy", headers=headers)
            got = connection.getresponse()
            value = got.read()
            connection.close()
            assert got.status == status
        assert json.loads(value)["counts"] == {"requests": 1}


def test_a_program_is_run_with_the_page(tmp_path):
    pytest.importorskip("uvicorn")
    words = [
        sys.executable,
        "-m",
        "clew",
        "proxy",
        "--inspect",
        "run",
        "--",
        sys.executable,
        "-c",
        "print(1)",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0
    assert done.stdout.strip() == "1"
    assert "Page: http://127.0.0.1:" in done.stderr


def test_figures_never_break_a_request(monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(ConversationStats, "add_usage", broken)
    stats = Stats()
    with (
        ScriptedServer.always(Reply(text_message(Role.ASSISTANT, "ok"), usage=USAGE), strict=False) as server,
        proxy_to(server.url, RequestReactor(stats)).running() as proxy,
    ):
        assert b"ok" in ask(proxy, body=body([TASK])).read()
        assert eventually(lambda: proxy.stats["not_counted"] == 1)
