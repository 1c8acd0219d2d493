"""What a tool call was asked for can be read whatever the model wrote, down to its single values."""

from __future__ import annotations

import pytest

from clew.message import Cite, Json, ToolCall, message_number
from clew.message.parts import json_leaves, json_strings


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"path": "a"}, {"path": "a"}),
        ('{"path": "a"}', {"path": "a"}),
        ("", {}),
        ('{"path": "a', None),
        ("[1, 2]", None),
        ("[" * 100_000, None),
    ],
    ids=["object", "text", "nothing", "broken", "a list", "too deep"],
)
def test_arguments_are_an_object_or_cannot_be_read(given: object, read: object):
    assert ToolCall("c", "read", given).input == read  # type: ignore[arg-type]


def test_leaves_of_json_come_in_order_without_keys():
    value = {"a": ["x", 1, {"b": ""}], "c": None, "d": [[], {}, True, "null"]}
    assert json_leaves(value) == ["x", 1, "", None, True, "null"]
    assert json_strings(value) == ["x", "", "null"]
    assert json_strings("alone") == ["alone"]


def test_leaves_of_deeply_nested_json_are_found():
    value: Json = "deep"
    for _ in range(100_000):
        value = [value]
    assert json_strings(value) == ["deep"]


@pytest.mark.parametrize(
    ("name", "number"),
    [("m1", 1), ("m12", 12), ("d1", 0), ("m", 0), ("m1@s", 0), ("m٣", 0), ("", 0), (f"m{'9' * 5_000}", 0)],
)
def test_the_number_of_a_message_is_read_from_its_id(name: str, number: int):
    assert message_number(name) == Cite(name).number == number
