"""Each Chat Completions rule: a minimal body that it refuses, and a near twin that passes."""

from __future__ import annotations

import pytest

from clew.providers.openai_chat.rules import RULES
from tests.providers.examples import Example, assert_fires_alone, judged, name_of


def call(call_id="a", name="read"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def user(content="hi"):
    return {"role": "user", "content": content}


def assistant(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def spoken(content="hello"):
    return {"role": "assistant", "content": content}


def answer(call_id="a", content="done"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def body(*messages, **fields):
    return {"model": "gpt-4o", "messages": list(messages), **fields}


def tool(name="read", description=""):
    return {"type": "function", "function": {"name": name, "description": description}}


def custom(name):
    return {"type": "custom", "custom": {"name": name}}


SOUND = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}
TEXT = {"type": "text", "text": "hi"}

EXAMPLES = [
    Example("O6", body(user(), max_tokens="100"), body(user(), max_tokens=100)),
    Example("O6", body(user(), temperature="hot"), body(user(), temperature=1)),
    Example("O0", body({"role": "robot", "content": "hi"}), body(user())),
    Example("O0", body(user(None)), body(user(""))),
    Example(
        "O0",
        body(user(), assistant({"id": "a", "function": {"name": "read", "arguments": {}}}), answer()),
        body(user(), assistant({"id": "a", "function": {"name": "read", "arguments": "{}"}}), answer()),
    ),
    Example(
        "O0",
        body(user(), {"role": "function", "content": "done"}),
        body(user(), {"role": "function", "content": "done", "name": "read"}),
    ),
    Example("O0b", body(), body(user())),
    Example("O0b", {"messages": [user()]}, body(user())),
    Example("O1", body(user(), answer()), body(user(), assistant(call()), answer())),
    Example(
        "O1",
        body(user(), assistant(call()), answer(), answer("b")),
        body(user(), assistant(call(), call("b")), answer(), answer("b")),
    ),
    Example("O2", body(user(), assistant(call()), user()), body(user(), assistant(call()), answer(), user())),
    Example("O2", body(user(), assistant(call())), body(user(), assistant(call()), answer())),
    Example("O3", body(user(), tools=[tool()] * 129), body(user(), tools=[tool()] * 128)),
    Example(
        "O2",
        body(user(), assistant(call(), call()), answer()),
        body(user(), assistant(call(), call()), answer(), answer()),
    ),
    Example(
        "O1",
        body(user(), {**user(), "tool_calls": [call()]}, answer()),
        body(user(), assistant(call()), answer()),
    ),
    Example("O3", body(user(), tools=[custom("a.b")]), body(user(), tools=[custom("a-b")])),
    Example("O3", body(user(), tools=[tool("a.b")]), body(user(), tools=[tool("a-b")])),
    Example("O3b", body(user(), tools=[tool("a" * 65)]), body(user(), tools=[tool("a" * 64)])),
    Example(
        "O3b",
        body(user(), tools=[tool("read", "x" * 1_025)]),
        body(user(), tools=[tool("read", "x" * 1_024)]),
    ),
    Example(
        "O3c",
        body(user(), assistant(call("a" * 41)), answer("a" * 41)),
        body(user(), assistant(call("a" * 40)), answer("a" * 40)),
    ),
    Example("O4", body(user(), spoken(None), user()), body(user(), spoken(""), user())),
    Example("O4", body(user([])), body(user([TEXT]))),
    Example(
        "O4",
        body(user(), assistant(call()), answer("a", [{"type": "image_url", "image_url": {"url": "x"}}])),
        body(user(), assistant(call()), answer("a", [TEXT])),
    ),
    Example(
        "O5",
        body({"role": "system", "content": "hi"}, user(), model="o1-mini"),
        body({"role": "system", "content": "hi"}, user(), model="o3-mini"),
    ),
    Example("O6", body(user(), temperature=2.1), body(user(), temperature=2)),
    Example("O7", body(user([SOUND]), model="gpt-5-mini"), body(user([SOUND]), model="gpt-4o-audio-preview")),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_a_rule_fires_alone_and_its_near_twin_passes(example):
    assert_fires_alone(RULES, example)


def test_every_rule_has_an_example():
    assert {example.rule for example in EXAMPLES} == {rule.id for rule in RULES}


def test_servers_of_other_models_are_not_held_to_openai_s_limits():
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": []}]}
    assert judged(RULES, body(user(), thought, user(), model="magistral-medium")).refusing == set()
    assert judged(RULES, body(user(), thought, user(), model="gpt-5")).refusing == {"O4"}


def test_an_open_model_with_an_openai_name_is_not_openai_s():
    assert judged(RULES, body(user([]), model="openai/gpt-oss-120b")).refusing == set()


def test_parallel_calls_may_be_answered_in_any_order():
    history = body(user(), assistant(call("a"), call("b")), answer("b"), answer("a"), spoken())
    assert judged(RULES, history).refusing == set()


@pytest.mark.parametrize("temperature", [0, 0.5, 1, 2])
def test_a_temperature_from_0_to_2_is_taken(temperature):
    assert judged(RULES, body(user(), temperature=temperature)).refusing == set()
