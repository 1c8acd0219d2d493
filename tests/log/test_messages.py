"""Messages as JSON."""

import dataclasses
import json
import sys
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import StoreDamaged
from clew.log import canonical, message_from_json, message_to_json, parse_body
from clew.message import Message, Native, Part, Role, Text, ToolCall, ToolResult, Trust, text_message
from clew.message.codec import _TYPES
from clew.providers import ANTHROPIC, WIRES
from tests.conftest import tries
from tests.log.generated import messages
from tests.strategies import ITEMS, json_values, mangled

BIG = "an output that nobody wants to keep twice\n" * 1_000


def reloaded(message):
    return message_from_json(parse_body(canonical(message_to_json(message))))


def everything(value):
    """Return a value's whole content, natives included, so that 1 and 1.0 and True differ."""
    return repr(dataclasses.asdict(value))


@given(messages())
@settings(max_examples=tries(80, 400))
def test_a_message_is_read_back_with_all_it_carries(message):
    assert reloaded(message) == message
    assert everything(reloaded(message)) == everything(message)


@pytest.mark.parametrize("name", WIRES)
@given(data=st.data())
@settings(max_examples=tries(40, 200))
def test_a_reloaded_message_renders_byte_identical(name, data):
    wire = WIRES[name]
    item = data.draw(ITEMS[name] | mangled(ITEMS[name]) | json_values)
    rendered = wire.render([reloaded(wire.parse_item(item))])
    assert json.dumps(rendered) == json.dumps([item])


def test_every_kind_of_part_has_a_name():
    assert set(_TYPES.values()) == set(get_args(Part))


def test_a_plain_message_is_written_plainly():
    assert message_to_json(text_message(Role.USER, "hello")) == {
        "role": "user",
        "parts": [{"type": "text", "trust": "user", "text": "hello"}],
    }


def test_what_the_native_object_says_is_said_once():
    item = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": BIG}]}
    written = canonical(message_to_json(ANTHROPIC.parse_item(item)))
    assert len(BIG) < len(written) < len(canonical(item)) + 500


def test_parts_share_their_native_objects_again_after_reading():
    item = {"role": "user", "content": [{"type": "text", "text": BIG}]}
    message = reloaded(ANTHROPIC.parse_item(item))
    assert message.parts[0].native.value is message.native.value["content"][0]
    assert message.parts[0].text is message.native.value["content"][0]["text"]


def test_a_tools_own_object_is_not_taken_for_a_pointer():
    arguments = {"at": ["content"]}
    message = Message(Role.ASSISTANT, (ToolCall("c", "look", arguments, trust=Trust.ASSISTANT),))
    assert reloaded(message).parts[0].arguments == arguments


@pytest.mark.parametrize("style", [{}, {"ensure_ascii": False}, {"separators": (",", ":")}])
def test_a_native_text_in_a_common_style_costs_nothing(style):
    value = {"content": [BIG + "é"]}
    message = Message(Role.USER, (), native=Native("anthropic", value, json.dumps(value, **style)))
    assert len(canonical(message_to_json(message))) < len(canonical(value)) + 100
    assert reloaded(message).native == message.native


def test_a_native_text_in_its_own_style_replaces_the_value():
    text = json.dumps({"content": [BIG], "n": 1}, indent=3)
    message = Message(Role.USER, (Text(BIG),), native=Native("anthropic", json.loads(text), text))
    assert len(canonical(message_to_json(message))) < len(canonical({"text": text})) + 200
    assert everything(reloaded(message)) == everything(message)


@pytest.mark.parametrize("text", ['{"n":1}', "not JSON", '{"n":1.0,"n":1.0} '])
def test_a_native_text_that_says_something_else_is_kept_beside_the_value(text):
    message = Message(Role.USER, (), native=Native("anthropic", {"n": 1.0, "m": 2}, text))
    assert everything(reloaded(message)) == everything(message)


def test_a_message_nested_as_deep_as_json_goes_is_written():
    value = "deep"
    for _ in range(sys.getrecursionlimit() // 2):
        value = [value]
    message = Message(Role.USER, (Text("x"),), native=Native("anthropic", {"content": value}))
    assert reloaded(message).native == message.native


def test_results_inside_results_are_read_back():
    inner = ToolResult("b", (Text(BIG),), trust=Trust.SEMI_TRUSTED)
    message = Message(Role.TOOL, (ToolResult("a", (inner, Text("x")), True, "bash"),))
    assert reloaded(message) == message


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"role": "nobody", "parts": []},
        {"role": "user", "parts": [{"type": "hologram"}]},
        {"role": "user", "parts": [{"type": "text"}]},
        {"role": "user", "parts": [{"type": "text", "text": "x", "colour": "red"}]},
        {"role": "user", "parts": [{"type": "text", "text": {"at": ["content", 0]}}]},
        {"role": "user", "parts": 5},
        {"role": "user", "parts": [], "native": {"wire": "x", "text": "{"}},
    ],
)
def test_json_that_is_no_message_is_called_damaged(value):
    with pytest.raises(StoreDamaged, match="cannot be read back"):
        message_from_json(value)
