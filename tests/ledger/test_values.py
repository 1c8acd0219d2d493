"""Exact values: counts, and the messages that name them."""

from __future__ import annotations

import pytest

from clew.ledger import values as values_module
from clew.ledger import values_of
from tests.ledger.sessions import assistant, did, items, user


def values_in(*messages):
    return values_of(items(*messages))


def seen(values, text):
    value = values.get(text)
    assert value is not None
    return value


def test_a_value_knows_who_named_it_and_when():
    values = values_in(
        user("Why is max_retries ignored?"),
        did("Grep", {"pattern": "max_retries"}, "a.py:3: max_retries = 5\nb.py:9: max_retries"),
        assistant("max_retries is read too late."),
    )
    value = seen(values, "max_retries")
    assert value.counts == (1, 1, 1, 0, 1, 0, 0)
    assert (value.first_message, value.last_message, value.last_index) == ("m0", "m3", 3)
    assert (value.in_user_text, value.in_call_arguments) == (True, True)
    assert value.mentions == 4


@pytest.mark.parametrize("line", ["  1005→\tfoo", "1005\tfoo", "1005: foo", "1005│ foo"])
def test_line_numbers_are_no_values(line):
    assert "1005" not in values_in(did("Read", {"file_path": "a.py"}, f"x\n{line}"))


def test_when_there_are_too_many_what_only_tools_named_goes_first(monkeypatch):
    monkeypatch.setattr(values_module, "MOST_VALUES", 6)
    monkeypatch.setattr(values_module, "_KEPT_WHEN_FULL", 4)
    values = values_in(
        user("mind the user_value"),
        did("Bash", {"command": "run_it --nowait"}, "old_one old_two"),
        did("Bash", {"command": "run_it --nowait"}, "twice_named new_one twice_named"),
        did("Bash", {"command": "run_it --nowait"}, "twice_named"),
    )
    assert {value.text for value in values} == {"user_value", "run_it", "--nowait", "twice_named"}


def test_what_clews_own_memory_says_again_names_nothing():
    values = values_in(
        did(
            "recall_search",
            {"query": "src/kiln_7.py"},
            "[m12@other, score 0.93] src/kiln_7.py has KILN_SEVEN",
        ),
        did("Grep", {"pattern": "src/kiln_9.py"}, "src/kiln_9.py:3: KILN_NINE"),
    )
    assert [value.text for value in values if "7" in value.text or "SEVEN" in value.text] == []
    assert "KILN_NINE" in values
