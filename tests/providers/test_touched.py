"""A message with one changed part keeps everything else as it came."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.message import Media, Message, Role, Text, Thinking, ToolCall, ToolResult, pair, text_message
from clew.providers import ANTHROPIC, GEMINI, OPENAI, RESPONSES, WIRES
from tests.conftest import tries
from tests.strategies import ITEMS


def touched(wire, item, at, part):
    """Render an entry after replacing one of its parts."""
    message = wire.parse_item(item)
    parts = (*message.parts[:at], part(message.parts[at]), *message.parts[at + 1 :])
    [rendered] = wire.render_items(replace(message, parts=parts))
    return rendered


def cut(part):
    return replace(part, parts=(Text("[cut]"),))


ANTHROPIC_REPLY = {
    "x": 1,
    "content": [
        {"signature": "s", "thinking": "hm", "type": "thinking"},
        {"type": "text", "text": "hi", "citations": [{"a": 1.0}]},
        {"caller": {"type": "direct"}, "id": "t1", "input": {"n": 1.0}, "name": "f", "type": "tool_use"},
    ],
    "role": "assistant",
}


def test_anthropic_keeps_the_blocks_beside_a_changed_one():
    rendered = touched(ANTHROPIC, ANTHROPIC_REPLY, 1, lambda text: replace(text, text="bye"))
    assert list(rendered) == ["x", "content", "role"]
    assert rendered["content"][0] is ANTHROPIC_REPLY["content"][0]
    assert rendered["content"][1] == {"type": "text", "text": "bye", "citations": [{"a": 1.0}]}
    assert rendered["content"][2] is ANTHROPIC_REPLY["content"][2]


def test_anthropic_keeps_the_fields_of_a_result_whose_content_is_cut():
    block = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": "long",
        "cache_control": {"type": "ephemeral"},
    }
    rendered = touched(ANTHROPIC, {"role": "user", "content": [block]}, 0, cut)
    assert rendered["content"] == [{**block, "content": "[cut]"}]


def test_anthropic_tells_1_from_true_and_1_0():
    rendered = touched(ANTHROPIC, ANTHROPIC_REPLY, 2, lambda call: replace(call, arguments={"n": True}))
    assert rendered["content"][2]["input"]["n"] is True


def test_anthropic_writes_a_server_result_that_was_cut():
    block = {
        "type": "mcp_tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "long"}],
        "is_error": False,
    }
    rendered = touched(ANTHROPIC, {"role": "assistant", "content": [block]}, 0, cut)
    assert rendered["content"] == [{**block, "content": [{"type": "text", "text": "[cut]"}]}]


def test_anthropic_drops_a_failure_flag_that_is_taken_back():
    block = {"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": True}
    rendered = touched(
        ANTHROPIC, {"role": "user", "content": [block]}, 0, lambda r: replace(r, is_error=False)
    )
    assert rendered["content"] == [{**block, "is_error": False}]


CHAT_REPLY = {
    "role": "assistant",
    "content": "",
    "reasoning_content": "hm",
    "tool_calls": [
        {"index": 0, "function": {"arguments": '{"a":1}', "name": "f"}, "id": "c1", "type": "function"},
        {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "free"}},
    ],
    "annotations": [],
}


def test_chat_keeps_the_calls_beside_a_changed_one():
    rendered = touched(OPENAI, CHAT_REPLY, 1, lambda call: replace(call, arguments='{"a":2}'))
    assert list(rendered) == list(CHAT_REPLY)
    assert rendered["tool_calls"][0]["function"] == {"arguments": '{"a":2}', "name": "f"}
    assert rendered["tool_calls"][1] is CHAT_REPLY["tool_calls"][1]


def test_chat_drops_the_field_of_a_part_that_is_gone():
    message = OPENAI.parse_item(CHAT_REPLY)
    thinking, *calls = message.parts
    assert isinstance(thinking, Thinking)
    [without_thinking] = OPENAI.render_items(replace(message, parts=tuple(calls)))
    [without_calls] = OPENAI.render_items(replace(message, parts=(thinking,)))
    assert "reasoning_content" not in without_thinking
    assert without_calls == {"role": "assistant", "content": "", "reasoning_content": "hm", "annotations": []}


def test_chat_reasoning_that_was_edited_loses_the_signature_made_for_other_words():
    details = [{"type": "reasoning.text", "text": "hm", "signature": "s"}]
    item = {"role": "assistant", "content": "hi", "reasoning": "hm", "reasoning_details": details}
    rendered = touched(OPENAI, item, 0, lambda thinking: replace(thinking, text="oh"))
    assert rendered == {"role": "assistant", "content": "hi", "reasoning": "oh"}


def test_chat_writes_no_id_that_was_not_there():
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answer = {"role": "function", "name": "f", "content": "long"}
    assert touched(OPENAI, legacy, 0, lambda call: replace(call, arguments="{ }")) == {
        **legacy,
        "function_call": {"name": "f", "arguments": "{ }"},
    }
    assert touched(OPENAI, answer, 0, cut) == {**answer, "content": "[cut]"}


def test_chat_keeps_the_detail_of_a_changed_image():
    block = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}
    rendered = touched(
        OPENAI, {"role": "user", "content": [block]}, 0, lambda m: replace(m, url="https://b.example")
    )
    assert rendered["content"] == [
        {"type": "image_url", "image_url": {"url": "https://b.example", "detail": "low"}}
    ]


def test_responses_keeps_the_fields_of_an_output_that_is_cut():
    item = {
        "type": "function_call_output",
        "id": "fco",
        "call_id": "c",
        "output": [{"type": "input_text", "text": "x"}],
    }
    assert touched(RESPONSES, item, 0, cut) == {**item, "output": [{"type": "input_text", "text": "[cut]"}]}


def test_responses_cuts_the_output_of_a_tool_the_provider_ran():
    item = {
        "type": "mcp_call",
        "id": "m",
        "name": "f",
        "arguments": "{}",
        "output": "long",
        "server_label": "s",
    }
    assert touched(RESPONSES, item, 1, cut) == {**item, "output": "[cut]"}


def test_responses_cuts_one_chunk_of_a_shell():
    chunks = [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit"}}, {"stdout": "c", "stderr": ""}]
    item = {"type": "shell_call_output", "call_id": "c", "output": chunks}
    rendered = touched(
        RESPONSES, item, 0, lambda r: replace(r, parts=(replace(r.parts[0], text="-"), r.parts[1]))
    )
    assert rendered["output"] == [{"stdout": "-", "stderr": "", "outcome": {"type": "exit"}}, chunks[1]]
    assert rendered["output"][1] is chunks[1]


def test_gemini_keeps_the_signature_of_a_changed_call():
    call = {"function_call": {"name": "f", "args": {"a": 1}}, "thought_signature": "s"}
    item = {"role": "model", "parts": [call, {"text": "hi"}]}
    rendered = touched(GEMINI, item, 0, lambda part: replace(part, arguments={"a": 2}))
    assert rendered["parts"][0] == {
        "function_call": {"name": "f", "args": {"a": 2}},
        "thought_signature": "s",
    }
    assert rendered["parts"][1] is item["parts"][1]


def test_gemini_writes_a_changed_thought_as_a_thought():
    item = {"role": "model", "parts": [{"text": "hm", "thought": True, "thoughtSignature": "s"}]}
    rendered = touched(GEMINI, item, 0, lambda part: replace(part, text="well"))
    assert rendered["parts"] == [{"text": "well", "thought": True, "thoughtSignature": "s"}]
    made = Message(Role.ASSISTANT, (Thinking("hm", "s"),))
    assert GEMINI.render_items(made) == [item]


def test_gemini_writes_changed_media():
    item = {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}]}
    rendered = touched(GEMINI, item, 0, lambda part: replace(part, data="eW8="))
    assert rendered["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "eW8="}}]


@pytest.mark.parametrize("kind", ["refusal", "text"])
def test_openai_keeps_the_kind_of_a_changed_block(kind):
    other = {"type": "text", "text": "hi"}
    item = {"role": "assistant", "content": [{"type": kind, kind: "no"}, other]}
    rendered = touched(OPENAI, item, 0, lambda part: replace(part, text="never"))
    assert rendered["content"] == [{"type": kind, kind: "never"}, other]


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("item", [7, None, [{}]])
def test_an_entry_that_is_not_an_object_is_carried_without_words(name, item):
    message = WIRES[name].parse_item(item)
    assert message.text == ""
    assert WIRES[name].render_items(message) == [item]


def test_gemini_cuts_a_response_and_keeps_its_media():
    media = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    response = {"name": "f", "response": {"rows": [1, 2]}, "parts": [media]}
    item = {"role": "user", "parts": [{"functionResponse": response}]}
    rendered = touched(
        GEMINI, item, 0, lambda r: replace(r, parts=(replace(r.parts[0], text="[cut]"), r.parts[1]))
    )
    assert rendered["parts"] == [{"functionResponse": {**response, "response": {"output": "[cut]"}}}]


@pytest.mark.parametrize("name", WIRES)
@given(data=st.data())
@settings(max_examples=tries(20, 80))
def test_changed_words_are_read_back_as_changed(name, data):
    wire = WIRES[name]
    message = wire.parse_item(data.draw(ITEMS[name]))
    words = [i for i, part in enumerate(message.parts) if isinstance(part, Text)]
    if words:
        at = data.draw(st.sampled_from(words))
        changed = replace(message.parts[at], text="changed")
        parts = (*message.parts[:at], changed, *message.parts[at + 1 :])
        [rendered] = wire.render_items(replace(message, parts=parts))
        assert wire.parse_item(rendered).parts == parts


FRESH = [
    Text("hi"),
    Media("image", "image/png", "aGk="),
    Media("image", url="https://example.org/a.png"),
    Media("document", "application/pdf", "JVBERi0=", title="a.pdf"),
    ToolCall("c", "f", {"a": 1}),
    ToolResult("c", (Text("ok"),)),
    ToolResult("c", (Text("a"), Text("b"))),
]


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("part", FRESH, ids=lambda part: type(part).__name__)
def test_a_part_made_by_hand_is_read_back_with_its_words(name, part):
    role = Role.ASSISTANT if isinstance(part, ToolCall) else Role.USER
    [item] = WIRES[name].render_items(Message(role, (part,)))
    [back] = WIRES[name].parse_item(item).parts
    assert type(back) is type(part)
    for field in ("text", "data", "url", "call_id", "input"):
        assert getattr(back, field, None) == getattr(part, field, None)


@pytest.mark.parametrize("name", WIRES)
def test_what_another_format_brought_and_this_one_does_not_know_is_left_out(name):
    foreign = next(wire for wire in WIRES.values() if wire.name != name)
    message = foreign.parse_item({"role": "user", "content": [{"type": "novel"}], "parts": [{"novel": 1}]})
    [item] = WIRES[name].render_items(Message(Role.USER, (*message.parts, Text("hi"))))
    assert [part.text for part in WIRES[name].parse_item(item).parts] == ["hi"]


@pytest.mark.parametrize("name", WIRES)
def test_a_message_whose_speaker_changes_is_written_so(name):
    wire = WIRES[name]
    [item] = wire.render_items(text_message(Role.ASSISTANT, "hi"))
    [changed] = wire.render_items(replace(wire.parse_item({**item, "x": 1}), role=Role.USER))
    assert changed == {**wire.render_items(text_message(Role.USER, "hi"))[0], "x": 1}
    assert wire.parse_item(changed).role is Role.USER


@pytest.mark.parametrize("name", WIRES)
def test_an_emptied_message_is_still_an_entry(name):
    wire = WIRES[name]
    [item] = wire.render_items(text_message(Role.USER, "hi"))
    [emptied] = wire.render_items(replace(wire.parse_item(item), parts=()))
    assert wire.parse_item(emptied).parts == ()


def renamed(part):
    return replace(part, name="renamed")


WITHOUT_ID = [
    (
        RESPONSES,
        [
            {"type": "function_call", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "output": "1"},
        ],
    ),
    (
        GEMINI,
        [
            {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "1"}}}]},
        ],
    ),
    (
        OPENAI,
        [
            {"role": "assistant", "function_call": {"name": "read", "arguments": "{}"}},
            {"role": "function", "name": "read", "content": "1"},
        ],
    ),
]


@pytest.mark.parametrize(("wire", "items"), WITHOUT_ID, ids=["responses", "gemini", "openai"])
def test_a_call_without_an_id_pairs_with_its_result_and_gets_none_when_it_is_renamed(wire, items):
    pairing = pair(wire.parse(items))
    assert (len(pairing.answers), pairing.orphans, pairing.dangling) == (1, [], [])
    for item in items:
        assert f"{wire.name}:read" not in str(touched(wire, item, 0, renamed))
        assert f"{wire.name}:function" not in str(touched(wire, item, 0, renamed))


@pytest.mark.parametrize("key", ["inlineData", "inline_data"])
def test_gemini_writes_a_medium_whose_data_became_a_url_under_one_key(key):
    item = {"role": "user", "parts": [{key: {"mimeType": "image/png", "data": "AAAA"}}]}
    rendered = touched(GEMINI, item, 0, lambda part: replace(part, data=None, url="gs://a/b.png"))
    (part,) = rendered["parts"]
    assert list(part) == ["fileData"]
    back = {"role": "user", "parts": [{"fileData": {"mimeType": "image/png", "fileUri": "gs://a/b.png"}}]}
    rendered = touched(GEMINI, back, 0, lambda part: replace(part, data="AAAA", url=None))
    assert rendered["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]
