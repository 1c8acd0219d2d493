"""What nobody touched goes out as the very object that came in, whatever it is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.wire import WIRES
from tests.strategies import ITEMS, json_values, mangled

wires = pytest.mark.parametrize("name", WIRES)


@wires
@given(data=st.data())
@settings(max_examples=200)
def test_a_well_formed_entry_renders_as_itself(name, data):
    wire = WIRES[name]
    item = data.draw(ITEMS[name])
    [rendered] = wire.render_items(wire.parse_item(item))
    assert rendered is item


@wires
@given(data=st.data())
@settings(max_examples=300)
def test_a_broken_entry_renders_as_itself(name, data):
    wire = WIRES[name]
    item = data.draw(mangled(ITEMS[name]) | json_values)
    [rendered] = wire.render_items(wire.parse_item(item))
    assert rendered is item


@wires
@given(value=json_values)
def test_any_system_field_renders_as_itself(name, value):
    wire = WIRES[name]
    assert wire.render_system([wire.parse_system(value)]) is value
