"""Each Anthropic rule: a minimal body that it refuses, and a near twin that passes."""

from __future__ import annotations

import base64
import struct

import pytest

from clew.providers.anthropic.rules import RULES
from clew.providers.anthropic.rules_walk import family_of
from clew.providers.rules import check_body
from tests.providers.examples import Example, Outcome, assert_fires_alone, judged, name_of


def text(words="hi", **fields):
    return {"type": "text", "text": words, **fields}


def call(call_id="a", **fields):
    return {"type": "tool_use", "id": call_id, "name": "read", "input": {}, **fields}


def result(call_id="a", content="done", **fields):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def thinking(signature="c2ln"):
    return {"type": "thinking", "thinking": "hm", "signature": signature}


def compacted(signature="c2ln", content="It was said that …"):
    block = {"type": "compaction", "content": content, "signature": signature}
    return {key: value for key, value in block.items() if key == "content" or value is not None}


def search(call_id="srvtoolu_1"):
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}


def found(call_id="srvtoolu_1"):
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def found_tools(count):
    """Return a request for a compaction after a search that found so many tools."""
    references = [{"type": "tool_reference", "tool_name": f"tool_{n}"} for n in range(count)]
    results = {"type": "tool_search_tool_search_result", "tool_references": references}
    block = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": results}
    return body(user(), assistant(search(), block), user(), compaction={"type": "summarize"})


def user(*blocks):
    return {"role": "user", "content": list(blocks) or "hi"}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks) or "hello"}


def system(*blocks):
    return {"role": "system", "content": list(blocks) or "be brief"}


def body(*messages, **fields):
    return {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": list(messages), **fields}


def png(side):
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", side, 1) + b"\x08\x02\0\0\0"
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(header).decode()}
    return {"type": "image", "source": source}


def tool(name="read", **fields):
    return {"name": name, "input_schema": {"type": "object"}, **fields}


SHORT = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}
THINKING = {"type": "enabled", "budget_tokens": 2_000}

EXAMPLES = [
    Example("A0", body({"role": "user", "content": 7}), body(user())),
    Example("A0", body({"content": "hi"}), body(user())),
    Example("A0", body(user(text(), "hi")), body(user(text(), text()))),
    Example("A0", body(user({"type": "text"})), body(user(text()))),
    Example("A0", body(user({"type": "input_text", "text": "hi"})), body(user(text()))),
    Example("A0", body(user({"type": "image_url", "image_url": {"url": "x"}})), body(user(text()))),
    Example("A0", body(user(), system=5), body(user(), system="Be good.")),
    Example("A12", body(user(), max_tokens="100"), body(user(), max_tokens=100)),
    Example("A12", body(user(), max_tokens=True), body(user(), max_tokens=1)),
    Example("A12", body(user(), max_tokens=1.5), body(user(), max_tokens=1)),
    Example("A12", body(user(), top_p="all"), body(user(), top_p=0.5)),
    Example("A1", body(user(), assistant(call())), body(user(), assistant(call()), user(result()))),
    Example(
        "A1",
        body(user(), assistant(call("a"), call("b")), user(result("a"))),
        body(user(), assistant(call("a"), call("b")), user(result("b")), user(result("a"))),
    ),
    Example("A2", body(user(result())), body(user(), assistant(call()), user(result()))),
    Example(
        "A2",
        body(user(), assistant(call()), user(result()), assistant(), user(result())),
        body(user(), assistant(call()), user(result()), assistant(), user()),
    ),
    Example(
        "A2b",
        body(user(), assistant(call()), user(result(), result())),
        body(user(), assistant(call()), user(result())),
    ),
    Example(
        "A3",
        body(user(), assistant(call(), text()), user(result())),
        body(user(), assistant(text(), call()), user(result())),
    ),
    Example(
        "A3",
        body(user(), assistant(call()), assistant(text()), user(result())),
        body(user(), assistant(call(), search(), found()), user(result())),
    ),
    Example("A4", body(user(), user()), body(user(), assistant(), user())),
    Example("A4", body(assistant(), user()), body(user(), assistant(), user())),
    Example(
        "A5",
        body(user(), assistant(call()), user(text(), result())),
        body(user(), assistant(call()), user(result(), text())),
    ),
    Example(
        "A6",
        body(user(), assistant(call(), call()), user(result())),
        body(user(), assistant(call("a"), call("b")), user(result("a"), result("b"))),
    ),
    Example(
        "A6b",
        body(user(), assistant(call()), user(result()), assistant(call()), user(result())),
        body(user(), assistant(call()), user(result()), assistant(call("b")), user(result("b"))),
    ),
    Example("A7", body(user(text(), text(""))), body(user(text(), text("\n")))),
    Example("A7", body(user(text(" "))), body(user(text(".")))),
    Example("A7", body({"role": "user", "content": ""}), body(user())),
    Example(
        "A7",
        body(user(), {"role": "assistant", "content": []}, user()),
        body(user(), {"role": "assistant", "content": []}),
    ),
    Example(
        "A7b",
        body(user(), assistant(call()), user(result("a", [text("", cache_control=SHORT)]))),
        body(user(), assistant(call()), user(result("a", [text("x", cache_control=SHORT)]))),
    ),
    Example(
        "A7c",
        body(user(), assistant(call()), user(result("a", []))),
        body(user(), assistant(call()), user(result("a", ""))),
    ),
    Example("A8", body(user(), assistant(text("So "))), body(user(), assistant(text("So")))),
    Example(
        "A8b",
        body(user(), assistant(), model="claude-opus-4-6"),
        body(user(), assistant(), model="claude-opus-4-5"),
    ),
    Example("A8c", body(user(), assistant(), tools=[tool()]), body(user(), assistant())),
    Example("A9", body(user(), assistant(thinking("")), user()), body(user(), assistant(thinking()), user())),
    Example(
        "A9b",
        body(user(), assistant(call()), user(result()), thinking=THINKING, max_tokens=9_000),
        body(user(), assistant(thinking(), call()), user(result()), thinking=THINKING, max_tokens=9_000),
    ),
    Example(
        "A10",
        body(user(*(text(cache_control=SHORT) for _ in range(4))), system=[text(cache_control=SHORT)]),
        body(user(*(text(cache_control=SHORT) for _ in range(3))), system=[text(cache_control=SHORT)]),
    ),
    Example(
        "A10",
        body(user(text(cache_control=LONG)), system=[text(cache_control=SHORT)]),
        body(user(text(cache_control=SHORT)), system=[text(cache_control=LONG)]),
    ),
    Example("A11", body(user(png(8_001))), body(user(png(8_000)))),
    Example(
        "A11",
        body(user(png(2_001), *(png(1) for _ in range(20)))),
        body(user(png(2_001), *(png(1) for _ in range(19)))),
    ),
    Example("A11b", body(user(text("x" * 33_554_433))), body(user(text("x" * 33_554_432)))),
    Example("A12", body(user(), temperature=1.1), body(user(), temperature=1)),
    Example(
        "A12",
        body(user(), thinking={"type": "enabled", "budget_tokens": 1_023}, max_tokens=9_000),
        body(user(), thinking={"type": "enabled", "budget_tokens": 1_024}, max_tokens=9_000),
    ),
    Example(
        "A12",
        body(user(), thinking=THINKING, max_tokens=2_000),
        body(user(), thinking=THINKING, max_tokens=2_001),
    ),
    Example("A12b", body(), body(user())),
    Example("A12b", {"model": "claude-sonnet-4-5", "messages": [user()]}, body(user())),
    Example(
        "A12b",
        {"max_tokens": 1, "messages": [user()]},
        {"max_tokens": 1, "messages": [user()], "anthropic_version": "bedrock-2023-05-31"},
    ),
    Example(
        "A13",
        body(user(), model="claude-opus-4-7", temperature=1),
        body(user(), model="claude-opus-4-6", temperature=1),
    ),
    Example(
        "A13",
        body(user(), model="claude-sonnet-5", temperature=0.5),
        body(user(), model="claude-sonnet-5", temperature=1),
    ),
    Example(
        "A13",
        body(user(), model="claude-fable-5", thinking={"type": "disabled"}),
        body(user(), model="claude-opus-4-8", thinking={"type": "disabled"}),
    ),
    Example(
        "A14",
        body(system(), user(), model="claude-opus-4-8"),
        body(user(), system(), model="claude-opus-4-8"),
    ),
    Example(
        "A14",
        body(user(), assistant(), system(), model="claude-opus-4-8"),
        body(user(), assistant(search(), found()), system(), model="claude-opus-4-8"),
    ),
    Example(
        "A14b",
        body(user(), system(), model="claude-sonnet-4-6"),
        body(user(), system(), model="claude-opus-5"),
    ),
    Example(
        "A15",
        body(user(), assistant({"type": "compaction", "content": ""}), user()),
        body(user(), assistant({"type": "compaction", "content": None}), user()),
    ),
    Example("A15b", body(user(), assistant(compacted()), user()), body(assistant(compacted()), user())),
    Example(
        "A15b",
        body(assistant(compacted(), compacted(signature=None)), user()),
        body(assistant(compacted(), compacted(signature=None, content=None)), user()),
    ),
    Example(
        "A15c",
        body(
            user(),
            assistant(compacted(signature=None), text()),
            user(),
            assistant(compacted(signature=None)),
            user(),
        ),
        body(user(), assistant(compacted(signature=None), text()), user(), assistant(text()), user()),
    ),
    Example("A22", body(user(), compaction={"type": "trim"}), body(user(), compaction={"type": "summarize"})),
    Example(
        "A22",
        body(user(), compaction={"type": "summarize"}, context_management={"edits": []}),
        body(user(), compaction={"type": "summarize", "instructions": "Keep the rules."}),
    ),
    Example("A22", body(user(), thread={"type": "continue"}), body(user(), thread={"type": "create"})),
    Example(
        "A22",
        body(user(), thread={"type": "fork"}),
        body(user(), thread={"type": "continue", "previous_message_id": "msg_1"}),
    ),
    Example("A32", body(assistant(compacted(signature="")), user()), body(assistant(compacted()), user())),
    Example(
        "A34",
        body(user(), assistant(), compaction={"type": "summarize"}),
        body(user(), assistant(), user(), compaction={"type": "summarize"}),
    ),
    Example(
        "A35",
        body(user(), context_management={"edits": [{"type": "compact_20260112", "trigger": {"value": 9}}]}),
        body(user(), context_management={"edits": [{"type": "compact_20260112"}]}),
    ),
    Example("A36", found_tools(101), found_tools(100)),
    Example(
        "A37",
        body(assistant(compacted(content=None, signature=None)), user()),
        body(user(), assistant(compacted(content=None, signature=None)), user()),
    ),
    Example("A16", body(user(), n=1), body(user(), stream=True)),
    Example("A16b", body({**user(), "id": "msg_1"}), body(user())),
    Example(
        "A17",
        body(user(), tools=[tool(input_schema={"type": "object", "oneOf": []})]),
        body(user(), tools=[tool(input_schema={"type": "object", "properties": {"a": {"oneOf": []}}})]),
    ),
    Example(
        "A17",
        body(user(), tools=[tool(defer_loading=True)]),
        body(user(), tools=[tool(defer_loading=True), tool("write")]),
    ),
    Example("A17", body(user(), tools=[tool(), tool()]), body(user(), tools=[tool(), tool("write")])),
    Example(
        "A18",
        body(user(), assistant(call("read:0")), user(result("read:0"))),
        body(user(), assistant(call("read_0")), user(result("read_0"))),
    ),
    Example(
        "A18",
        body(user(), assistant(call(name="x" * 201)), user(result())),
        body(user(), assistant(call(name="a.b" + "x" * 197)), user(result())),
    ),
    Example("A18", body(user(), tools=[tool("a.b")]), body(user(), tools=[tool("a-b")])),
    Example(
        "A19",
        body(user(), model="claude-opus-4-6", output_config={"effort": "xhigh"}),
        body(user(), model="claude-opus-4-7", output_config={"effort": "xhigh"}),
    ),
    Example(
        "A20",
        body(user(), assistant(found()), user()),
        body(user(), assistant(search(), found()), user()),
    ),
    Example(
        "A21",
        body(user(), assistant(search()), user()),
        body(user(), assistant(search())),
    ),
    Example(
        "A21",
        body(user(), assistant(search(), call()), user(result(), text())),
        body(user(), assistant(search(), call()), user(result())),
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_a_rule_fires_alone_and_its_near_twin_passes(example):
    assert_fires_alone(RULES, example)


def test_every_rule_has_an_example():
    assert {example.rule for example in EXAMPLES} == {rule.id for rule in RULES}


def test_results_may_come_in_any_order_and_in_several_messages():
    history = body(user(), assistant(call("a"), call("b")), user(result("b")), user(result("a"), text()))
    assert judged(RULES, history) == Outcome(set(), {"A4"})


def test_a_place_is_given_as_sent_and_as_the_api_counts_it():
    history = body(user(), user(), assistant(), user(text(), result("lost")))
    [lost] = [violation for violation in check_body(RULES, history).violations if violation.rule.id == "A2"]
    assert (lost.finding.where, lost.finding.api_where) == ("messages.3.content.1", "messages.2.content.1")


def test_the_place_of_trailing_space_is_the_last_block():
    history = body(user(), assistant(text("So"), text("Well "), text("then ")))
    [space] = [violation for violation in check_body(RULES, history).violations if violation.rule.id == "A8"]
    assert space.finding.where == "messages.1.content.2"


def test_a_turn_that_waits_for_a_server_tool_is_no_prefill():
    assert judged(RULES, body(user(), assistant(search()), model="claude-opus-4-8")).refusing == set()


def test_code_that_calls_client_tools_may_go_unanswered():
    running = {"type": "server_tool_use", "id": "srvtoolu_9", "name": "code_execution", "input": {}}
    asked = call(caller={"type": "code_execution_20260120", "tool_id": "srvtoolu_9"})
    history = body(user(), assistant(running, asked), user(result(), text()))
    assert judged(RULES, history).refusing == set()


def test_a_paused_loop_with_thinking_is_judged_from_its_first_step():
    steps = [user(), assistant(thinking(), call()), user(result()), assistant(call("b")), user(result("b"))]
    assert judged(RULES, body(*steps, thinking=THINKING, max_tokens=9_000)).refusing == set()


def test_a_long_lived_mark_inside_a_result_comes_before_the_result_s_own():
    marked = result("a", [text(cache_control=LONG)], cache_control=SHORT)
    assert judged(RULES, body(user(), assistant(call()), user(marked))).refusing == set()


def test_a_larger_thinking_budget_may_stand_with_tools():
    request = body(user(), thinking=THINKING, max_tokens=1_500, tools=[tool()])
    assert judged(RULES, request).refusing == set()


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-opus-4-8", "opus-4-8"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "sonnet-4-5"),
        ("anthropic/claude-opus-4.7", "opus-4-7"),
        ("claude-opus-4-5@20251101", "opus-4-5"),
        ("claude-opus-4-20250514", "opus-4"),
        ("claude-sonnet-4-0", "sonnet-4"),
        ("claude-3-5-sonnet-20241022", "3-5-sonnet"),
        ("claude-sonnet-5-5", "sonnet-5-5"),
        ("gpt-5", None),
        (None, None),
    ],
)
def test_a_model_is_known_by_its_family_whoever_serves_it(model, family):
    assert family_of(model) == family


def test_an_unknown_model_is_not_refused():
    request = body(user(), assistant(), model="claude-sonnet-5-5", temperature=0.1, top_k=5)
    assert judged(RULES, request).refusing == set()


def test_a_result_after_text_is_only_out_of_order_where_calls_are_answered():
    refused = judged(RULES, body(user(), assistant(), user(text(), result()))).refusing
    assert refused
    assert "A5" not in refused
