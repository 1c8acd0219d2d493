"""Memory of a proxy that serves many conversations for a long time."""

from __future__ import annotations

import gc
import http.client
import itertools
import json
import resource
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clew.proxy import conversations, follow, in_flight
from clew.proxy.follow import Follower
from clew.proxy.in_flight import InFlight
from clew.proxy.relay import HttpRequest
from clew.proxy.stats import Stats
from clew.testing import ScriptedServer
from tests.conftest import tries
from tests.proxy.test_faults import started
from tests.proxy.test_pass_through import home  # noqa: F401  # a fixture

CONVERSATIONS, ROUNDS, FIRST = tries(12, 64), tries(12, 50), 120
"""Conversations, requests of each, and messages in its first one: 270 kB, so that it is logged."""
GENERATIONS = tries(1, 3)
"""How often all conversations end and as many new ones begin."""


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / (1 << 20)


def messages(n: int) -> list[str]:
    """Return the messages of a conversation, each as JSON."""
    words = "some words of a file " * 110
    roles = ("user", "assistant")
    return [
        json.dumps({"role": roles[i % 2], "content": f"{n}, message {i}: {words}"})
        for i in range(FIRST + 2 * ROUNDS)
    ]


def strings_in(value: object) -> list[str]:
    """Return every string object that a value holds."""
    found, seen, waiting = [], set(), [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type) or callable(one):
            continue
        seen.add(id(one))
        found += [one] if isinstance(one, str) else []
        waiting += gc.get_referents(one)
    return found


def test_a_text_is_held_once_however_often_it_is_sent():
    flying = InFlight(Stats(), 60_000)
    for end in range(61, FIRST + 60, 2):
        listed = [json.loads(text) for text in messages(0)[:end]]
        block = {"type": "text", "text": listed[-1]["content"], "cache_control": {"type": "ephemeral"}}
        listed[-1]["content"] = [block]  # the mark moves on with every request
        raw = json.dumps({"model": "claude-sonnet-5", "messages": listed}).encode()
        flying.fit_request(HttpRequest("POST", "/v1/messages", [], raw), raw, "anthropic", preview=False)
    [slot] = flying._compactor._slots.values()
    assert slot.result.digest is not None
    for text in (json.loads(text)["content"] for text in messages(0)[:end:7]):
        assert strings_in(slot.result).count(text) == 1


def test_few_requests_wait_to_be_read_and_a_large_one_is_read_nevertheless(monkeypatch):
    monkeypatch.setattr(follow, "WAITING_BYTES", 1 << 20)
    follower, may_read = Follower(Stats()), threading.Event()
    monkeypatch.setattr(follower, "_log", lambda *_: may_read.wait() and follower.stats.count("read"))
    for n in range(8):
        raw = b" " * (400 << 10)
        follower.offer(
            HttpRequest("POST", "/v1/messages", [("x-claude-code-session-id", f"s{n}")], raw), raw, ""
        )
    assert 1 <= len(follower._waiting) <= 2
    may_read.set()
    assert follower.wait()
    read = follower.stats["read"]
    large = b" " * (2 << 20)
    follower.offer(
        HttpRequest("POST", "/v1/messages", [("x-claude-code-session-id", "s9")], large), large, ""
    )
    assert follower.wait()
    assert follower.stats["read"] == read + 1 <= 4
    follower.close()


def test_conversations_are_dropped_if_all_of_them_are_too_large(monkeypatch):
    monkeypatch.setattr(in_flight, "KEPT_BYTES", 1 << 20)
    flying = InFlight(Stats(), 60_000)

    def send(n: int) -> None:
        raw = f'{{"model": "claude-sonnet-5", "messages": [{",".join(messages(n)[: FIRST + 1])}]}}'.encode()
        http_request = HttpRequest("POST", "/v1/messages", [("x-claude-code-session-id", f"s{n}")], raw)
        made = flying.fit_request(http_request, raw, "anthropic", preview=False)
        assert made is not None
        assert made.label.startswith("compacted")

    for n in (0, 1, 2, 0, 3):
        send(n)
    assert len(flying._compactor) == 3
    send(0)
    assert flying.stats["compacted"] == 4  # the first one stayed: others had not been used for longer


def known_conversations() -> set[int]:
    gc.collect()
    return {id(one) for one in gc.get_objects() if isinstance(one, conversations.Conversation)}


def test_only_the_newest_sessions_stay_in_memory(monkeypatch):
    monkeypatch.setattr(conversations, "OPEN_SESSIONS", 2)
    others = known_conversations()  # of other tests
    follower = Follower(Stats())
    for count in (FIRST, FIRST + 20):
        for n in range(4):
            whole = ",".join(messages(n)[: count + 1])
            raw = f'{{"model": "claude-sonnet-5", "messages": [{whole}]}}'.encode()
            headers = [("x-claude-code-session-id", f"s{n}")]
            follower.offer(HttpRequest("POST", "/v1/messages", headers, raw), raw, "anthropic")
            assert follower.wait()
    assert len(known_conversations() - others) == 2
    assert not follower.conversations._locks
    assert follower.stats["followed"] == 4 * (FIRST + 20)
    follower.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of a process in /proc")
@pytest.mark.parametrize("options", [(), ("--compact", "--window", "60000")])
def test_memory_follows_the_conversations_not_the_requests(options):
    texts = [messages(n) for n in range(CONVERSATIONS)]
    sizes = []
    with (
        ScriptedServer.always("from upstream", strict=False) as server,
        started(server.url, *options) as (url, pid),
    ):
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=300)
        for generation, place in itertools.product(range(GENERATIONS), range(ROUNDS)):
            for n in range(CONVERSATIONS):
                whole = ",".join(texts[n][: FIRST + 2 * place + 1])
                raw = f'{{"model": "claude-sonnet-5", "max_tokens": 9, "messages": [{whole}]}}'
                name = {"x-claude-code-session-id": f"s{generation}-{n}"}
                connection.request("POST", "/v1/messages", raw, name)
                assert b"from upstream" in connection.getresponse().read()
            server.requests.clear()
            sizes.append(resident_mib(pid))
        connection.close()
    print(", ".join(f"{size:.0f}" for size in sizes), "MiB")
    # from the middle to the end the requests have 20 MiB in every run (and 900 in the long run), the new
    # texts in them at most 7; --compact keeps conversations open
    assert max(sizes[ROUNDS // 2 : ROUNDS]) <= max(sizes[: ROUNDS // 2]) + (17 if options else 12)
    peaks = [max(sizes[start : start + ROUNDS]) for start in range(0, len(sizes), ROUNDS)]
    assert peaks[-1] <= peaks[len(peaks) // 2] + 8  # new conversations take the room of old ones
