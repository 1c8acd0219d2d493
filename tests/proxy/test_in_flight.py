"""Requests compacted on their way: the same prefix every time, never refused, harder once if too long."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from clew.errors import ContextTooLong
from clew.message import Role, text_message
from clew.providers import wire_named
from clew.providers.model import Ask, Reply
from clew.proxy import in_flight
from clew.proxy.in_flight import InFlight
from clew.proxy.reactor import Reaction, RequestReactor
from clew.proxy.relay import HttpRequest, Upstream
from clew.proxy.sealed import SealedDigest, sealed_item
from clew.proxy.server import Proxy, Routes
from clew.proxy.stats import Stats
from clew.request.pieces import REMINDER
from clew.testing import HttpStatus, ScriptedServer
from clew.tokens import counter_for
from tests.proxy.test_answers import RULE, TASK, body, work
from tests.proxy.test_pass_through import Raw, ask, home  # noqa: F401  # a fixture

WINDOW = 40_000


def compacting(url: str, *, compact: bool = True) -> Proxy:
    stats, upstream = Stats(), Upstream.of(url)
    return Proxy(Routes(upstream, upstream), RequestReactor(stats, compact=compact, window=WINDOW), stats)


def marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the list with a cache mark on its last message, as Claude Code sends it."""
    last = messages[-1]
    blocks = [*last["content"][:-1], {**last["content"][-1], "cache_control": {"type": "ephemeral"}}]
    return [*messages[:-1], {**last, "content": blocks}]


def unmarked_text(value: object) -> str:
    return json.dumps(value).replace(', "cache_control": {"type": "ephemeral"}', "")


def cached(messages):
    """Return the messages without the reminder of rules behind the one that the client marked."""
    reminded = REMINDER in json.dumps(messages[-1])
    assert "cache_control" in json.dumps(messages[-2] if reminded else messages[-1])
    return messages[:-1] if reminded else messages


def test_a_growing_conversation_keeps_its_prefix_between_compactions():
    with ScriptedServer.always("go on") as server, compacting(server.url).running() as proxy:
        for n in range(2, 90, 2):
            raw = body(marked([TASK, *work(0, n)]))
            got = ask(proxy, body=raw, x_claude_code_session_id="s1")
            assert got.status == 200, got.read()
            got.read()
        side = body([{"role": "user", "content": "Write a title."}])  # another list of the same session
        assert ask(proxy, body=side, x_claude_code_session_id="s1").headers["x-clew"] == "passed"
    sent = [one.body["messages"] for one in server.requests[:-1]]
    breaks = 0
    for before, after in pairwise(sent):
        texts = [[unmarked_text(one) for one in cached(messages)] for messages in (before, after)]
        breaks += texts[1][: len(texts[0])] != texts[0]
    assert proxy.stats["compacted"] == breaks
    assert 1 <= breaks <= 6
    assert all(RULE in json.dumps(messages) for messages in sent)
    assert all(json.dumps(messages).count("cache_control") == 1 for messages in sent)
    assert not any(one.check().refused for one in server.requests)
    assert proxy.stats["failed_open"] == 0
    assert server.requests[0].raw == body(marked([TASK, *work(0, 2)]))  # while it fits: the same bytes


def test_a_prompt_that_is_too_long_is_compacted_further_and_sent_once_more():
    def small(request: Ask) -> Reply:
        if sum(len(str(one)) for one in request.messages) > 30_000:
            raise ContextTooLong(tokens=30_000, limit=8_000)
        return Reply(text_message(Role.ASSISTANT, "fits"))

    with ScriptedServer.always(small) as server, compacting(server.url).running() as proxy:
        got = ask(proxy, body=body([TASK, *work(0, 25)]))
        assert json.loads(got.read())["content"][0]["text"] == "fits"
        assert got.headers["x-clew-retried"] == "prompt-too-long"
    assert len(server.requests) == 2


def thoughts(messages: list[dict[str, Any]]) -> list[str]:
    blocks = [one for message in messages for one in message["content"] if isinstance(one, dict)]
    return [one["signature"] for one in blocks if one["type"] == "thinking"]


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-sonnet-5", {"type": "adaptive"}),
        ("claude-sonnet-4-5", {"type": "enabled", "budget_tokens": 1_024}),  # a loop begins with thinking
    ],
)
def test_thinking_of_a_running_loop_is_dropped_after_a_compaction_if_asked_to(model, thinking):
    whole: list[dict[str, Any]] = [TASK, *work(0, 80)]
    for n, message in enumerate(whole):
        if message["role"] == "assistant":
            thought = {"type": "thinking", "thinking": f"Thought {n}.", "signature": f"sig{n}"}
            message["content"] = [thought, *message["content"]]
    flying = InFlight(Stats(), WINDOW, drop_thinking=True)
    sent, stale, dropped = [], set[str](), False
    for end in range(51, len(whole) + 1, 2):
        raw = body(whole[:end], model=model, thinking=thinking)
        compactions = flying.stats["compacted"]
        made = fitted(flying, raw)
        new = json.loads(made.body or raw)
        sent.append(new["messages"])
        assert not wire_named("anthropic").check(new).refused
        if flying.stats["compacted"] > compactions and thinking["type"] == "adaptive":
            stale = set(thoughts(whole[:end]))
        assert not stale.intersection(thoughts(sent[-1]))
        dropped = dropped or "thinking blocks dropped" in made.label
    assert dropped == bool(stale)
    assert thoughts(sent[-1])  # new thinking stays
    breaks = sum(after[: len(before)] != before for before, after in pairwise(sent))
    assert breaks == flying.stats["compacted"] >= 1


def test_reasoning_items_from_before_a_compaction_are_dropped_if_asked_to():
    items: list[dict[str, Any]] = [{"role": "user", "content": f"Fix the parser. {RULE}"}]
    for n in range(60):
        call = {"type": "function_call", "call_id": f"c{n}", "name": "read", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": f"c{n}", "output": f"line {n}\n" * 400}
        thought = {"type": "reasoning", "summary": [], "encrypted_content": f"sealed{n}"}
        items += [thought, call, output, {"role": "assistant", "content": f"Read {n}."}]
    items.append({"role": "user", "content": "Go on."})
    raw = json.dumps({"model": "gpt-5", "input": items}).encode()
    flying = InFlight(Stats(), WINDOW, drop_thinking=True)
    made = flying.fit_request(HttpRequest("POST", "/v1/responses", [], raw), raw, "responses", preview=False)
    assert made is not None
    assert "thinking blocks dropped" in made.label
    assert b"sealed" not in (made.body or b"")


def test_a_conversation_may_be_dropped_by_another_thread_while_its_body_is_made(monkeypatch):
    flying = InFlight(Stats(), WINDOW, drop_thinking=True)
    without_thoughts = in_flight.without_thinking

    def meanwhile(entries: list[Any], stale: set[int]) -> list[Any]:
        flying._make_room("another conversation", in_flight.KEPT_BYTES)
        return without_thoughts(entries, stale)

    monkeypatch.setattr(in_flight, "without_thinking", meanwhile)
    assert fitted(flying, body([TASK, *work(0, 60)])).label.startswith("compacted; ")
    assert not flying._stale  # nothing is kept of a dropped conversation


@pytest.fixture
def busy(monkeypatch) -> Iterator[InFlight]:
    """An instance of which another thread compacts all the time."""
    monkeypatch.setattr(in_flight, "MOST_WAIT", 0.05)
    made = InFlight(Stats(), WINDOW)
    with made._compacting:
        yield made


def fitted(busy: InFlight, raw: bytes) -> Reaction:
    made = busy.fit_request(HttpRequest("POST", "/v1/messages", [], raw), raw, "anthropic", preview=False)
    assert made is not None
    return made


def test_a_request_that_fits_the_model_does_not_wait_for_other_compactions(busy):
    made = fitted(busy, body([TASK, *work(0, 60)]))  # above the chosen window, below that of the model
    assert (made.body, made.label) == (None, "passed")
    assert made.retry is not None
    assert busy.stats["deferred"] == 1


def test_a_request_that_does_not_fit_waits_for_its_turn(busy):
    raw = body([TASK, *work(0, 60)], model="a-model-of-mine")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(fitted, busy, raw)
        with pytest.raises(TimeoutError):
            waiting.result(0.3)
        busy._compacting.release()
        made = waiting.result(60)
        busy._compacting.acquire()
    assert made.label.startswith("compacted; ")
    assert busy.stats["deferred"] == 0


def test_a_known_conversation_keeps_its_prefix_while_others_are_compacted(busy):
    busy._compacting.release()
    first = json.loads(fitted(busy, body([TASK, *work(0, 60)])).body or b"")["messages"]
    busy._compacting.acquire()
    later = [fitted(busy, body([TASK, *work(0, n)])) for n in range(62, 160, 8)]
    assert json.loads(later[0].body or b"")["messages"][: len(first)] == first
    assert busy.stats["compacted"] > 1  # what no longer fits is compacted without a turn
    counter = counter_for("claude-sonnet-5")
    assert all(counter.count_text((one.body or b"").decode()) <= 1.2 * WINDOW for one in later)


@pytest.mark.parametrize(
    "status", [HttpStatus(400, "prompt is too long: 9 tokens > 8 maximum"), HttpStatus(400, "other")]
)
def test_an_error_that_stays_is_handed_on_word_for_word(status):
    with ScriptedServer.always(status) as server, compacting(server.url).running() as proxy:
        got = ask(proxy, body=body([TASK, *work(0, 3)]))
        assert (got.status, json.loads(got.read())["error"]["message"]) == (400, status.message)
    assert len(server.requests) <= 2


@pytest.mark.parametrize(
    ("accepted", "forwarded"), [("br;q=1.0, gzip;q=0.8, *;q=0.1", b"gzip;q=0.8"), ("br", b"identity")]
)
def test_a_compressed_refusal_is_read_and_handed_on_as_it_was_sent(accepted, forwarded):
    refusal = gzip.compress(b'{"error": {"message": "prompt is too long: 30000 tokens > 8000 maximum"}}')
    head = b"HTTP/1.1 400 Bad Request\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(refusal)
    with Raw(head + refusal) as upstream, compacting(upstream.url).running() as proxy:
        got = ask(proxy, body=body([TASK, *work(0, 25)]), accept_encoding=accepted)
        assert (got.status, got.headers["content-encoding"], got.read()) == (400, "gzip", refusal)
        assert got.headers["x-clew-retried"] == "prompt-too-long"
    first, second = upstream.received
    assert len(second) < len(first)
    for request in upstream.received:
        sent = [line for line in request.split(b"\r\n") if line.lower().startswith(b"accept-encoding:")]
        assert [line.split(b": ", 1)[1] for line in sent] == [forwarded]  # only what clew can decode
    assert proxy.stats["failed_open"] == 0


def test_the_header_decides_for_one_request():
    raw = body([TASK, *work(0, 60)])
    with ScriptedServer.always("ok") as server, compacting(server.url, compact=False).running() as proxy:
        labels = {
            mode: ask(proxy, body=raw, x_clew=mode).headers["x-clew"] for mode in ("off", "preview", "on")
        }
    assert labels["off"] == "passed"
    assert labels["preview"].startswith("preview; ")
    assert labels["on"].startswith("compacted; ")
    assert [one.raw == raw for one in server.requests] == [True, True, False]


def preview(flying: InFlight, raw: bytes) -> str:
    made = flying.fit_request(HttpRequest("POST", "/v1/messages", [], raw), raw, "anthropic", preview=True)
    assert made is not None
    return made.label


def test_a_preview_says_what_the_request_would_become():
    flying = InFlight(Stats(), WINDOW)
    tool = {"name": "look", "description": "Look at it. " * 1_500, "input_schema": {"type": "object"}}
    raw = body([TASK, *work(0, 24)], tools=[tool])  # only with its tools it is too long
    assert preview(flying, body([TASK, *work(0, 24)])) == "preview; unchanged"
    for end in (24, 26, 60):  # compacted, continued, compacted further
        raw = body([TASK, *work(0, end)], tools=[tool])
        labels = preview(flying, raw), preview(flying, raw)  # the first changes nothing
        made = fitted(flying, raw).label
        assert made.startswith("compacted; ")
        assert labels == (made.replace("compacted", "preview"),) * 2


def test_parts_of_a_request_are_shared_only_if_they_are_the_same_in_json():
    known = {"n": 1, "texts": ["a", {"b": None}]}
    assert in_flight._shared(json.loads(json.dumps(known)), known) is known
    for new in ({"n": True, "texts": []}, {"n": 1.0}, {"n": 1, "texts": ["a", {}]}):
        assert json.dumps(in_flight._shared(new, known)) == json.dumps(new)
    other = in_flight._shared({"n": 2, "texts": ["a", {"b": None}]}, known)
    assert isinstance(other, dict)
    assert other["texts"] is known["texts"]


@pytest.mark.parametrize("value", ["true", "of", "on, on", "1"])
def test_an_unknown_value_of_the_header_is_ignored_and_reported(value):
    raw = body([TASK, *work(0, 60)])
    with ScriptedServer.always("ok") as server, compacting(server.url).running() as proxy:
        got = ask(proxy, body=raw, x_clew=value)
        assert got.headers["x-clew"].startswith("compacted; ")
        assert got.headers["x-clew-ignored"] == "x-clew is not one of on, off, preview"
        for known in ({}, {"x_clew": " ON "}):
            assert ask(proxy, body=raw, **known).headers["x-clew-ignored"] is None


def test_an_error_while_compacting_sends_the_clients_own_bytes(monkeypatch, caplog):
    def broken(*_: object) -> None:
        raise MemoryError("a bug")

    monkeypatch.setattr(InFlight, "_fit", broken)
    raw = body([TASK, *work(0, 60)])
    with ScriptedServer.always("ok") as server, compacting(server.url).running() as proxy:
        assert ask(proxy, body=raw).headers["x-clew"] == "failed-open; MemoryError"
    assert server.requests[0].raw == raw


def test_a_thread_is_refused_instead_of_losing_the_conversation():
    raw = body([TASK], thread={"type": "continue", "previous_message_id": "m"})
    with ScriptedServer() as server, compacting(server.url).running() as proxy:
        got = ask(proxy, body=raw)
        assert (got.status, got.headers["x-clew"]) == (400, "refused; thread")


@pytest.mark.parametrize(("mode", "label"), [("on", "opened"), ("preview", "preview; unchanged")])
def test_a_sealed_digest_is_opened_if_the_request_needs_no_compaction(mode, label):
    item = sealed_item(SealedDigest("proxy-1", "d1", "The digest."))
    raw = json.dumps({"model": "gpt-5", "input": [item, {"role": "user", "content": "Go on."}]}).encode()
    with ScriptedServer.always("ok") as server, compacting(server.url).running() as proxy:
        got = ask(proxy, path="/v1/responses", body=raw, x_clew=mode)
        assert (got.status, got.headers["x-clew"]) == (200, label)
    assert server.requests[0].body["input"][0]["content"][0]["text"] == "The digest."
