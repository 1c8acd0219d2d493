"""Each Responses rule: a minimal body that it refuses, and a near twin that passes."""

from __future__ import annotations

import pytest

from clew.providers.openai_responses.rules import RULES
from tests.providers.examples import Example, assert_fires_alone, judged, name_of


def user(content="hi"):
    return {"role": "user", "content": content}


def spoken(**fields):
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "so"}],
        **fields,
    }


def reasoning(**fields):
    return {"type": "reasoning", "summary": [], "encrypted_content": "x", **fields}


def call(call_id="a", **fields):
    return {"type": "function_call", "call_id": call_id, "name": "read", "arguments": "{}", **fields}


def output(call_id="a", content="done", **fields):
    return {"type": "function_call_output", "call_id": call_id, "output": content, **fields}


def body(*items, **fields):
    return {"model": "gpt-5", "input": list(items), **fields}


def part(kind):
    return {"type": kind, "text": "hi"}


def file(mime):
    return {"type": "input_file", "filename": "f", "file_data": f"data:{mime};base64,AAAA"}


EXAMPLES = [
    Example("P0", body(user([part("output_text")])), body(user([part("input_text")]))),
    Example("P0", body(user([part("text")])), body(user([part("a-new-kind")]))),
    Example("P0", body({**user([part("input_text")]), "role": "assistant"}), body(spoken())),
    Example("P6", body(user(), max_output_tokens="9"), body(user(), max_output_tokens=9)),
    Example("P0", {"model": "gpt-5", "input": 7}, {"model": "gpt-5", "input": "hi"}),
    Example("P0", body({"content": "hi"}), body(user())),
    Example("P0", body({"type": "message", "role": "tool", "content": "hi"}), body(user())),
    Example("P0", body(user(), call(arguments={}), output()), body(user(), call(arguments="{}"), output())),
    Example("P0b", {"input": "hi"}, {"model": "gpt-5", "input": "hi"}),
    Example(
        "P1", body(user(), reasoning(id="rs_1"), spoken()), body(user(), reasoning(id="rs_1"), spoken(id="m"))
    ),
    Example("P1", body(user(), reasoning(id="rs_1")), body(user(), reasoning())),
    Example(
        "P1",
        body(user(), reasoning(id="rs_1"), user()),
        body(user(), reasoning(id="rs_1"), reasoning(id="rs_2"), call(id="fc_1"), output()),
    ),
    Example(
        "P1",
        body(user(), reasoning(id="rs_1"), call(), output()),
        body(user(), reasoning(id="rs_1"), call(), output(), store=False),
    ),
    Example(
        "P2",
        body(user(), reasoning(id="rs_1"), spoken(id="m1"), user(), spoken(id="m2"), user()),
        body(user(), reasoning(id="rs_1"), spoken(id="m1"), user(), spoken(), user()),
    ),
    Example("P3", body(user(), call()), body(user(), call(), output())),
    Example("P3", body(user(), output()), body(output(), previous_response_id="resp_1")),
    Example("P3", body(user(), call(), output(), call()), body(user(), call(), output(), call(), output())),
    Example(
        "P3",
        body(user(), {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"}),
        body(
            user(),
            {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "1"},
        ),
    ),
    Example(
        "P4", body(user(), call("a" * 65), output("a" * 65)), body(user(), call("a" * 64), output("a" * 64))
    ),
    Example(
        "P4",
        body(user(), call(), output("a", "x" * 10_485_761)),
        body(user(), call(), output("a", "x" * 10_485_760)),
    ),
    Example(
        "P4",
        body(user(), context_management=[{"type": "compaction", "compact_threshold": 999}]),
        body(user(), context_management=[{"type": "compaction", "compact_threshold": 1_000}]),
    ),
    Example(
        "P5",
        body(user(), call("a"), spoken(), call("b"), output("a"), output("b"), model="deepseek-v4-flash"),
        body(user(), spoken(), call("a"), call("b"), output("a"), output("b"), model="deepseek-v4-flash"),
    ),
    Example("P6", body(user(), temperature=-1), body(user(), temperature=0)),
    Example("P7", body(user([file("audio/mpeg")])), body(user([file("application/pdf")]))),
    Example(
        "P8",
        body(user(), {"type": "compaction_trigger"}, user()),
        body(user(), spoken(), {"type": "compaction_trigger"}),
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_a_rule_fires_alone_and_its_near_twin_passes(example):
    assert_fires_alone(RULES, example)


def test_every_rule_has_an_example():
    assert {example.rule for example in EXAMPLES} == {rule.id for rule in RULES}


@pytest.mark.parametrize("kind", ["local_shell_call", "shell_call", "apply_patch_call", "computer_call"])
def test_every_kind_of_call_needs_its_output(kind):
    assert judged(RULES, body(user(), {"type": kind, "call_id": "a"})).refusing == {"P3"}


def test_a_local_shell_s_output_may_name_its_call_under_id():
    shell = {"type": "local_shell_call", "id": "ls_1", "call_id": "a", "action": {}}
    done = {"type": "local_shell_call_output", "id": "a", "output": "{}"}
    assert judged(RULES, body(user(), shell, done)).refusing == set()


def test_a_call_that_the_provider_runs_needs_no_output_and_may_have_one():
    search = {"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": {}}
    assert judged(RULES, body(user(), search)).refusing == set()
    assert judged(RULES, body(user(), search, output())).refusing == set()


def test_an_output_may_answer_an_item_that_is_only_referred_to():
    assert judged(RULES, body({"type": "item_reference", "id": "fc_1"}, output())).refusing == set()


def test_deepseek_takes_reasoning_whose_follower_has_no_id():
    history = body(user(), reasoning(id="rs_1"), spoken(), user(), model="deepseek-v4-flash")
    assert judged(RULES, history).refusing == set()
