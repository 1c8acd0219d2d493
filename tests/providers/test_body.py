"""A request body goes out byte for byte but for what was changed."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError, NotJson
from clew.message import Role, Text, text_message
from clew.providers import ANTHROPIC, OPENAI, RESPONSES, WIRES, Body
from tests.conftest import tries
from tests.strategies import ITEMS, extras, json_objects, json_text, json_values, mangled

wires = pytest.mark.parametrize("name", WIRES)

ODD = (
    '{ "model":"m", "temperature":1.0,"x":1e3,\n'
    ' "messages" : [ {"role":"user","content":"caf\\u00e9 \\/ é"}\t,{"content":"hi","role":"assistant"} ],'
    '"model":"twice","é":"\\ud83d" }\n'
)


@st.composite
def bodies(draw, wire):
    """Make the text of a body in some unusual spelling, with its messages mangled."""
    body = {wire.list_key: draw(st.lists(mangled(ITEMS[wire.name]), max_size=3)), **draw(extras)}
    if wire.system_key and draw(st.booleans()):
        body[draw(st.sampled_from([wire.system_key, *wire.system_aliases]))] = draw(json_values)
    return draw(json_text(body))


@wires
@given(data=st.data())
@settings(max_examples=tries(20, 60))
def test_an_untouched_body_renders_the_same_bytes_and_the_same_object(name, data):
    text = data.draw(bodies(WIRES[name]))
    body = Body.parse(text.encode("utf-8", "surrogatepass"), WIRES[name])
    assert body.render_bytes() == text.encode("utf-8", "surrogatepass")
    assert body.render() is body.source.value


@wires
@given(data=st.data())
@settings(max_examples=tries(20, 60))
def test_a_body_given_as_an_object_renders_as_that_object(name, data):
    given = {WIRES[name].list_key: data.draw(st.lists(ITEMS[name], max_size=3)), **data.draw(json_objects)}
    assert Body.parse(given, WIRES[name]).render() is given


@given(st.data())
@settings(max_examples=tries(20, 60))
def test_replacing_one_message_leaves_every_other_byte(data):
    items = data.draw(st.lists(mangled(ITEMS["anthropic"]), min_size=1, max_size=4))
    texts = [data.draw(json_text(item)) for item in items]
    at = data.draw(st.integers(0, len(items) - 1))
    frame = '{{"a": 1.0 ,\n"messages":[ {} ] , "z":"\\u0061"}}'
    body = Body.parse(frame.format(" ,\t".join(texts)), ANTHROPIC)
    messages = (*body.messages[:at], text_message(Role.USER, "new"), *body.messages[at + 1 :])
    texts[at] = '{"role": "user", "content": "new"}'
    assert replace(body, messages=messages).render_text() == frame.format(" ,\t".join(texts))


def test_odd_spellings_survive_a_change_elsewhere():
    body = Body.parse(ODD)
    first, second = body.messages
    longer = replace(
        body, messages=(first, replace(second, parts=(Text("hello"),)), text_message(Role.USER, "more"))
    )
    assert longer.render_text() == ODD.replace(
        '{"content":"hi","role":"assistant"}',
        '{"content":"hello","role":"assistant"}\t,{"role":"user","content":"more"}',
    )


def test_a_field_that_is_dropped_or_added_leaves_the_others():
    body = Body.parse('{"model": "m", "x": 1e3, "messages": []}')
    changed = replace(body, rest={"x": body.rest["x"], "stream": True})
    assert changed.render_text() == '{"x": 1e3, "messages": [], "stream": true}'


def test_bytes_that_are_not_utf8_are_carried_through():
    given = b'[{"role": "user", "content": "\xff\xed\xa0\x80"}, {"role": "user", "content": "b"}]'
    body = Body.parse(given)
    assert body.render_bytes() == given
    kept = replace(body, messages=(body.messages[0], text_message(Role.USER, "c")))
    assert kept.render_bytes() == given.replace(b'"b"', b'"c"')


def test_half_a_character_in_a_new_message_is_written_escaped():
    body = replace(
        Body.parse('[{"role": "user", "content": "é"}]'), messages=(text_message(Role.USER, "\ud800é"),)
    )
    assert json.loads(body.render_bytes()) == [{"role": "user", "content": "\ud800é"}]


def test_half_a_character_that_came_in_a_str_goes_out():
    body = Body.parse('[{"role": "user", "content": "\ud800"}]')
    assert body.render_bytes().decode("utf-8", "surrogatepass") == body.render_text()


def test_a_body_without_a_list_stays_without_one():
    assert Body.parse('{"previous_response_id": "r"}', RESPONSES).render() == {"previous_response_id": "r"}


def test_a_changed_field_is_written_in_place():
    body = Body.parse('{"temperature":1.0,"messages":[],"model":"m"}')
    changed = replace(body, rest={**body.rest, "model": "n"})
    assert changed.render_text() == '{"temperature":1.0,"messages":[],"model":"n"}'


def test_a_lone_value_is_no_body():
    with pytest.raises(InputError, match="an object, or a list"):
        Body.parse("7", OPENAI)


def test_a_byte_order_mark_stays():
    given = b'\xef\xbb\xbf {"messages": []} '
    assert Body.parse(given).render_bytes() == given


def test_plain_text_input_is_one_user_message():
    body = Body.parse('{"input": "h\\u0069", "model": "m"}')
    assert (body.wire, body.messages) == (RESPONSES, (text_message(Role.USER, "hi"),))
    assert body.render_text() == '{"input": "h\\u0069", "model": "m"}'


def test_plain_text_input_becomes_a_list_when_more_is_said():
    body = Body.parse({"input": "hi"})
    more = replace(body, messages=(*body.messages, text_message(Role.ASSISTANT, "hello")))
    assert more.render() == {
        "input": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    }


def test_a_snake_case_system_field_keeps_its_name():
    body = Body.parse({"contents": [], "system_instruction": {"parts": [{"text": "a"}]}})
    changed = replace(body, system=(replace(body.system[0], parts=(Text("b"),)),))
    assert changed.render() == {"contents": [], "system_instruction": {"parts": [{"text": "b"}]}}


def test_the_system_field_goes_when_its_message_does():
    body = Body.parse({"system": "be brief", "messages": []})
    assert replace(body, system=()).render() == {"messages": []}


def test_a_bare_list_that_gets_a_system_prompt_becomes_a_body():
    body = replace(Body.parse([], ANTHROPIC), system=(text_message(Role.SYSTEM, "be brief"),))
    assert body.render() == {"system": "be brief", "messages": []}


def test_a_body_made_by_hand_renders():
    body = Body(OPENAI, messages=(text_message(Role.USER, "hi"),), rest={"model": "m"})
    assert body.render_bytes() == b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'


def test_a_format_without_a_system_field_refuses_one():
    with pytest.raises(InputError, match="put it there"):
        Body(OPENAI, system=(text_message(Role.SYSTEM, "be brief"),)).render()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1,]",
        '{"a":1,}',
        '{"a" 1}',
        "[1] x",
        '{"messages":[{]}',
        "{a:1}",
        "nul",
        "[" * 100_000,
        "[" + "1" * 5000 + "]",
    ],
    ids=lambda text: text[:12],
)
def test_text_that_is_not_json_is_refused_with_its_place(text):
    with pytest.raises(NotJson):
        Body.parse(text)


def test_the_place_of_an_error_is_named():
    with pytest.raises(NotJson, match=r"line 2 column 9 \(char 23\)"):
        Body.parse('{"messages": [\n{"a":1, ]}')


@given(json_values.flatmap(json_text))
def test_text_is_read_as_the_json_module_reads_it(text):
    if isinstance(json.loads(text), list | dict):
        assert Body.parse(text, OPENAI).source.value == json.loads(text)


def test_an_object_without_messages_comes_back_as_it_was():
    assert [Body.parse(b"{}", wire).render_bytes() for wire in WIRES.values()] == [b"{}"] * len(WIRES)
