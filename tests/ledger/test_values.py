"""Exact values: counts, places, and the line that tells most."""

from __future__ import annotations

import pytest

from clew.ledger import Ledger, Values, Voice
from clew.ledger import values as values_module
from clew.message import Item
from tests.ledger.sessions import assistant, call, did, items, ledger_of, user


def seen(ledger, text):
    value = ledger.values.get(text)
    assert value is not None
    return value


def test_a_value_knows_who_named_it_and_when():
    ledger = ledger_of(
        user("Why is max_retries ignored?"),
        did("Grep", {"pattern": "max_retries"}, "a.py:3: max_retries = 5\nb.py:9: max_retries"),
        assistant("max_retries is read too late."),
    )
    value = seen(ledger, "max_retries")
    assert (value.counts, value.first_index, value.last_index) == ((1, 1, 1, 0, 1, 0, 0), 0, 3)
    assert (value.in_user_text, value.in_call_arguments, value.in_error) == (True, True, False)
    assert value.mentions == 4


def test_the_telling_line_is_short_and_full_of_words():
    ledger = ledger_of(
        did("Read", {"file_path": "a.py"}, "MAX_SIZE=1\nlog(MAX_SIZE)"),
        assistant("The limit for uploads is MAX_SIZE and comes from the config."),
        did("Bash", {"command": "env"}, "HOME=/root MAX_SIZE=20 " + "x " * 100),
    )
    assert seen(ledger, "MAX_SIZE").best_line == ("m2", 0, 0, 60)


def test_first_and_last_are_the_lines_that_name_it():
    talk = items(user("one\nlook at foo_bar\nthree"), assistant("foo_bar it is"))
    ledger = Ledger()
    ledger.extend(talk)
    value = seen(ledger, "foo_bar")
    assert value.first.quote(talk[0].message) == "look at foo_bar"
    assert value.last.quote(talk[1].message) == "foo_bar it is"


def test_of_an_endless_line_the_surroundings_are_cited():
    text = "word " * 300 + "then foo_bar is set to nine " + "word " * 300
    (item,) = talk = items(user(text))
    ledger = Ledger()
    ledger.extend(talk)
    quote = seen(ledger, "foo_bar").best_line.quote(item.message)
    assert "then foo_bar is set to nine" in quote
    assert len(quote) <= 240


def test_a_line_of_a_written_file_is_cited_in_its_escaped_form():
    talk = items(call("Write", {"file_path": "a.py", "content": 'A = "x"\nLIMIT_MB = 20\n\tz = 1'}))
    ledger = Ledger()
    ledger.extend(talk)
    assert seen(ledger, "LIMIT_MB").best_line.quote(talk[0].message) == "LIMIT_MB = 20"


def test_a_written_line_that_looks_broken_by_its_escapes_is_cited_with_the_rest():
    talk = items(call("Write", {"content": 'print("a\\nb")\nLIMIT_MB = 20'}))
    ledger = Ledger()
    ledger.extend(talk)
    assert "LIMIT_MB = 20" in seen(ledger, "LIMIT_MB").best_line.quote(talk[0].message)


@pytest.mark.parametrize("line", ["  1005→\tfoo", "1005\tfoo", "1005: foo", "1005│ foo"])
def test_line_numbers_are_no_values(line):
    assert "1005" not in ledger_of(did("Read", {"file_path": "a.py"}, f"x\n{line}")).values


def test_a_value_of_a_failure_is_marked():
    failed = did("Bash", {"command": "go test"}, "Exit code 1\nok fine_line\nerror: bad_line", error=True)
    ledger = ledger_of(failed, did("Bash", {"command": "x"}, "no error: calm_line"))
    marks = {text: seen(ledger, text).in_error for text in ("fine_line", "bad_line", "calm_line")}
    assert marks == {"fine_line": False, "bad_line": True, "calm_line": False}


def test_a_copy_does_not_hear_what_comes_later():
    ledger = ledger_of(user("use foo_bar"))
    copy = ledger.values.copy()
    ledger.add(Item("late", user("foo_bar and new_name")))
    copy.add(Item("later", user("foo_bar foo_baz")), 7)
    assert (ledger.values.get("foo_bar").last_index, copy.get("foo_bar").last_index) == (1, 7)
    assert ("new_name" in copy, "foo_baz" in ledger.values) == (False, False)


def test_when_there_are_too_many_what_only_tools_named_goes_first(monkeypatch):
    monkeypatch.setattr(values_module, "MOST_VALUES", 6)
    monkeypatch.setattr(values_module, "_KEPT_WHEN_FULL", 4)
    ledger = ledger_of(
        user("mind the user_value"),
        did("Bash", {"command": "run_it --nowait"}, "old_one old_two"),
        did("Bash", {"command": "run_it --nowait"}, "twice_named new_one twice_named"),
        did("Bash", {"command": "run_it --nowait"}, "twice_named"),
    )
    assert {value.text for value in ledger.values} == {"user_value", "run_it", "--nowait", "twice_named"}


def test_values_come_back_from_json():
    ledger = ledger_of(user("use foo_bar"), did("Read", {"file_path": "src/a.py"}, "x", error=True))
    written = ledger.values.to_json()
    assert Values.from_json(written).to_json() == written
    assert [value.text for value in Values.from_json(written)] == ["foo_bar", "src/a.py"]
    assert Values.from_json(written).get("src/a.py").counts[Voice.CALL] == 1


def test_what_clews_own_memory_says_again_names_nothing():
    ledger = ledger_of(
        did(
            "recall_search",
            {"query": "src/kiln_7.py"},
            "[m12@other, score 0.93] src/kiln_7.py has KILN_SEVEN",
        ),
        did("Grep", {"pattern": "src/kiln_9.py"}, "src/kiln_9.py:3: KILN_NINE"),
    )
    assert [value.text for value in ledger.values if "7" in value.text or "SEVEN" in value.text] == []
    assert "KILN_NINE" in ledger.values
