"""What holds of every conversion, whatever the history."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.message import Text, ToolCall, ToolResult, turns
from clew.providers import ANTHROPIC, OPENAI, RESPONSES, WIRES, CheckScope, RuleLevel, convert
from tests.conftest import tries
from tests.strategies import ITEMS, ordinary_histories, wild_histories

wires = pytest.mark.parametrize("name", WIRES)
pairs = pytest.mark.parametrize(("home", "abroad"), [(a, b) for a in WIRES for b in WIRES if a != b])


def carried(messages, wire):
    """Return a history as a reader of the wire format would see it."""
    converted = convert(messages, wire)
    system = [] if converted.system is None else [wire.parse_system(converted.system)]
    return [*system, *wire.parse(converted.items)]


def refusals(converted):
    """Return why the target's API would refuse this; a history of which nothing is left is none."""
    report = converted.wire.check(converted.body, scope=CheckScope.MESSAGES)
    return [str(v) for v in report.violations if v.level is RuleLevel.REFUSE] if converted.items else []


@pairs
@given(history=ordinary_histories())
@settings(max_examples=12)
def test_an_ordinary_history_comes_home_as_it_left(home, abroad, history):
    left = carried(history, WIRES[home])
    assert carried(carried(left, WIRES[abroad]), WIRES[home]) == left


@pairs
@given(history=ordinary_histories())
@settings(max_examples=8)
def test_an_ordinary_history_loses_nothing(home, abroad, history):
    assert convert(carried(history, WIRES[home]), WIRES[abroad]).losses == ()


@wires
@given(history=wild_histories)
@settings(max_examples=tries(20, 80))
def test_no_api_refuses_what_was_converted_for_it(name, history):
    converted = convert(history, WIRES[name])
    assert refusals(converted) == []


@pairs
@given(data=st.data())
@settings(max_examples=15)
def test_no_api_refuses_what_came_from_another_format(home, abroad, data):
    items = data.draw(st.lists(ITEMS[home], max_size=5))
    assert refusals(convert(WIRES[home].parse(items), WIRES[abroad])) == []


@wires
@given(history=wild_histories)
@settings(max_examples=tries(20, 40))
def test_words_are_carried_or_their_loss_is_told(name, history):
    converted = convert(history, WIRES[name])
    written = json.dumps([converted.system, converted.items], ensure_ascii=False)
    told = {(loss.message, loss.part) for loss in converted.losses}
    for i, message in enumerate(history):
        for j, part in enumerate(message.parts):
            if isinstance(part, Text) and part.text.strip() and (i, j) not in told:
                assert json.dumps(part.text, ensure_ascii=False)[1:-1] in written


@pytest.mark.parametrize("wire", [ANTHROPIC, OPENAI, RESPONSES], ids=lambda wire: wire.name)
@given(history=wild_histories)
@settings(max_examples=tries(20, 40))
def test_every_call_has_an_id_of_its_own_and_one_answer(wire, history):
    written = wire.parse(convert(history, wire).items)
    parts = [part for message in written for part in message.parts]
    calls = [part.call_id for part in parts if isinstance(part, ToolCall) and not part.server_side]
    answers = [part.call_id for part in parts if isinstance(part, ToolResult) and not part.server_side]
    assert len(set(calls)) == len(calls)
    assert sorted(answers) == sorted(calls)


@pairs
@given(history=ordinary_histories())
@settings(max_examples=6)
def test_a_conversion_of_a_prefix_is_a_prefix_of_the_conversion(home, abroad, history):
    left = carried(history, WIRES[home])
    _, cut = next(turns(left))
    whole, part = convert(left, WIRES[abroad]), convert(left[:cut], WIRES[abroad])
    assert whole.items[: len(part.items)] == part.items


@wires
@given(history=ordinary_histories())
@settings(max_examples=20)
def test_what_is_in_the_format_already_goes_out_as_the_same_objects(name, history):
    items = convert(history, WIRES[name]).items
    again = convert(WIRES[name].parse(items), WIRES[name])
    assert all(new is old for new, old in zip(again.items, items, strict=True))
