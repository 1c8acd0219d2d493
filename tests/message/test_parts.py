"""What a tool call was asked for can be read whatever the model wrote."""

from __future__ import annotations

import pytest

from clew.message import ToolCall


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
