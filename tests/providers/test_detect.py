"""The wire format is told from the shape, and doubt is admitted."""

import pytest
from hypothesis import given

from clew.errors import UnknownWire
from clew.providers import WIRES, Guess, detect, wire_named
from clew.providers.formats import AMBIGUOUS
from tests.strategies import json_values

HI = {"role": "user", "content": "hi"}


def with_block(block):
    return [HI, {"role": "user", "content": [{"type": "text", "text": "a"}, block]}]


@pytest.mark.parametrize(
    ("wire", "value"),
    [
        ("gemini", {"contents": []}),
        ("gemini", [{"role": "user", "parts": [{"text": "hi"}]}]),
        ("responses", {"input": "hi"}),
        ("responses", [HI, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]),
        ("responses", [HI, {"type": "reasoning", "summary": []}]),
        ("responses", [{"type": "message", "role": "user", "content": "hi"}]),
        ("responses", with_block({"type": "input_image", "image_url": "https://a"})),
        ("anthropic", with_block({"type": "tool_result", "tool_use_id": "t"})),
        ("anthropic", with_block({"type": "image", "source": {}})),
        ("anthropic", with_block({"type": "thinking", "thinking": "hm"})),
        ("anthropic", {"messages": [HI], "system": "be brief"}),
        ("anthropic", {"messages": [HI], "tools": [{"name": "f", "input_schema": {}}]}),
        ("openai", [HI, {"role": "assistant", "content": None, "tool_calls": []}]),
        ("openai", [{"role": "tool", "tool_call_id": "c", "content": "ok"}]),
        ("openai", with_block({"type": "image_url", "image_url": {"url": "https://a"}})),
        ("openai", with_block({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]})),
        ("openai", {"messages": [HI], "tools": [{"type": "function", "function": {}}]}),
        ("openai", {"messages": [HI], "response_format": {}}),
        ("openai", [{"role": "system", "content": "be brief"}, HI]),
    ],
)
def test_a_shape_of_one_format_decides(wire, value):
    assert detect(value) == Guess(wire)


@pytest.mark.parametrize(
    "value", [[HI], [], {"messages": [HI], "model": "m"}, with_block({"type": "novel"})], ids=str
)
def test_bare_roles_and_text_are_read_as_chat_with_a_note(value):
    assert detect(value) == Guess("openai", AMBIGUOUS)


@pytest.mark.parametrize("value", [{}, {"messages": "hi"}, {"role": "user"}, 7, None])
def test_what_holds_no_messages_is_refused(value):
    with pytest.raises(UnknownWire):
        detect(value)


@given(json_values)
def test_any_list_gets_a_guess(value):
    assert detect([value]).wire in WIRES
    assert detect({"messages": [value, {"role": value, "content": [value], "type": value}]}).wire in WIRES


def test_a_format_is_found_by_its_name():
    assert wire_named("gemini") is WIRES["gemini"]
    with pytest.raises(UnknownWire, match="'grpc'"):
        wire_named("grpc")
