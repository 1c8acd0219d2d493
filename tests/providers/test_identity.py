"""What nobody touched goes out as the very object that came in, whatever it is."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.message import Trust
from clew.providers import WIRES
from tests.conftest import tries
from tests.strategies import ITEMS, json_values, mangled

wires = pytest.mark.parametrize("name", WIRES)


@wires
@given(data=st.data())
@settings(max_examples=tries(20, 100))
def test_a_well_formed_entry_renders_as_itself(name, data):
    wire = WIRES[name]
    item = data.draw(ITEMS[name])
    [rendered] = wire.render_items(wire.parse_item(item))
    assert rendered is item


@wires
@given(data=st.data())
@settings(max_examples=tries(30, 150))
def test_a_broken_entry_renders_as_itself(name, data):
    wire = WIRES[name]
    item = data.draw(mangled(ITEMS[name]) | json_values)
    [rendered] = wire.render_items(wire.parse_item(item))
    assert rendered is item


@wires
@given(data=st.data())
def test_a_changed_trust_label_changes_nothing_that_is_written(name, data):
    item = data.draw(ITEMS[name])
    message = WIRES[name].parse_item(item)
    parts = tuple(replace(part, trust=Trust.SEMI_TRUSTED) for part in message.parts)
    [rendered] = WIRES[name].render_items(replace(message, parts=parts))
    assert rendered is item


@wires
@given(value=json_values)
def test_any_system_field_renders_as_itself(name, value):
    wire = WIRES[name]
    assert wire.render_system([wire.parse_system(value)]) is value


def entry(**block):
    """Return an entry that holds one block, for any of the formats."""
    return {"role": "assistant", "content": [block], "parts": [block]}


WRONG_TYPES = [
    {"role": ["user"], "content": {"text": "hi"}},
    {"role": "user", "content": 7, "parts": 7},
    {"role": "assistant", "content": None, "refusal": {}, "audio": {"id": 1}, "reasoning": [1]},
    {
        "role": "assistant",
        "content": [],
        "tool_calls": [None, {}, {"id": 1, "function": {}}, {"function": {}}],
    },
    {"role": "assistant", "tool_calls": [{"id": None, "type": "function", "function": {"name": "f"}}]},
    {"role": "assistant", "tool_calls": {}, "function_call": {"name": 7}},
    {"role": "assistant", "function_call": {"name": "f", "arguments": 7}},
    {"role": "tool", "content": "no id and no name"},
    {"role": "tool", "tool_call_id": 7, "name": "f", "content": {"a": 1}},
    entry(type="text", text=None),
    entry(type="thinking", thinking="hm", signature=7),
    entry(type="redacted_thinking", data=None),
    entry(type="tool_use", id=7, name="f", input={}),
    entry(type="tool_use", id="t", name="f", input="text"),
    entry(type="tool_result", tool_use_id=None),
    entry(type="tool_result", tool_use_id="t", content=7, is_error="yes"),
    entry(type="image", source={"type": "base64", "data": 7}),
    entry(type="compaction", content=7),
    entry(type=["text"]),
    entry(type="content"),
    {"type": "reasoning", "id": 7},
    {"type": "reasoning", "summary": "text", "content": [None, {"text": "hm"}]},
    {"type": "compaction", "encrypted_content": 7},
    {"type": "mcp_approval_request", "id": "a", "name": 7},
    {"type": "mcp_approval_request", "id": "a", "name": "f", "arguments": 7},
    {"type": "mcp_approval_request", "id": "a", "name": "f"},
    {"type": "mcp_approval_response", "approval_request_id": "a", "approve": "yes"},
    {"type": "function_call", "name": 7},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": None},
    {"type": "function_call"},
    {"type": "novel_call"},
    {"type": "file_search_call", "id": "s", "queries": 7, "results": {"a": 1}},
    {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": 7}]},
    {"type": "tool_search_output", "call_id": None, "tools": []},
    {"type": "message"},
    {"type": "message", "role": "robot", "content": [{"type": "input_audio", "input_audio": {"data": "a"}}]},
    entry(text="hm", thought=True, thoughtSignature=7),
    entry(thought=True),
    entry(functionCall={"name": "f"}),
    entry(functionCall={"name": "f", "args": []}),
    entry(functionResponse={"name": "f"}),
    entry(functionResponse={"name": "f", "response": "text", "parts": [{"text": "a"}, "text"]}),
    entry(functionResponse={"name": "f", "parts": 7}),
    entry(codeExecutionResult={"output": 7}),
    entry(fileData={"data": "aGk=", "fileUri": "gs://a"}),
    entry(inlineData={"data": "", "mimeType": "image/png"}),
]


@wires
@pytest.mark.parametrize("item", WRONG_TYPES, ids=str)
def test_an_entry_with_something_of_a_wrong_type_renders_as_itself(name, item):
    [rendered] = WIRES[name].render_items(WIRES[name].parse_item(item))
    assert rendered is item
