"""Exact values: counts, places, and the line that tells most."""

from __future__ import annotations

import pytest

from clew.ledger import values as values_module
from clew.ledger import values_of
from tests.ledger.sessions import assistant, call, did, items, user


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
    assert (value.counts, value.first_index, value.last_index) == ((1, 1, 1, 0, 1, 0, 0), 0, 3)
    assert (value.in_user_text, value.in_call_arguments, value.in_error) == (True, True, False)
    assert value.mentions == 4


def test_the_telling_line_is_short_and_full_of_words():
    values = values_in(
        did("Read", {"file_path": "a.py"}, "MAX_SIZE=1\nlog(MAX_SIZE)"),
        assistant("The limit for uploads is MAX_SIZE and comes from the config."),
        did("Bash", {"command": "env"}, "HOME=/root MAX_SIZE=20 " + "x " * 100),
    )
    assert seen(values, "MAX_SIZE").best_line == ("m2", 0, 0, 60)


def test_first_and_last_are_the_lines_that_name_it():
    talk = items(user("one\nlook at foo_bar\nthree"), assistant("foo_bar it is"))
    values = values_of(talk)
    value = seen(values, "foo_bar")
    assert value.first.quote(talk[0].message) == "look at foo_bar"
    assert value.last.quote(talk[1].message) == "foo_bar it is"


def test_of_an_endless_line_the_surroundings_are_cited():
    text = "word " * 300 + "then foo_bar is set to nine " + "word " * 300
    (item,) = talk = items(user(text))
    values = values_of(talk)
    quote = seen(values, "foo_bar").best_line.quote(item.message)
    assert "then foo_bar is set to nine" in quote
    assert len(quote) <= 240


def test_a_line_of_a_written_file_is_cited_in_its_escaped_form():
    talk = items(call("Write", {"file_path": "a.py", "content": 'A = "x"\nLIMIT_MB = 20\n\tz = 1'}))
    values = values_of(talk)
    assert seen(values, "LIMIT_MB").best_line.quote(talk[0].message) == "LIMIT_MB = 20"


def test_a_written_line_that_looks_broken_by_its_escapes_is_cited_with_the_rest():
    talk = items(call("Write", {"content": 'print("a\\nb")\nLIMIT_MB = 20'}))
    values = values_of(talk)
    assert "LIMIT_MB = 20" in seen(values, "LIMIT_MB").best_line.quote(talk[0].message)


@pytest.mark.parametrize("line", ["  1005→\tfoo", "1005\tfoo", "1005: foo", "1005│ foo"])
def test_line_numbers_are_no_values(line):
    assert "1005" not in values_in(did("Read", {"file_path": "a.py"}, f"x\n{line}"))


def test_a_value_of_a_failure_is_marked():
    failed = did("Bash", {"command": "go test"}, "Exit code 1\nok fine_line\nerror: bad_line", error=True)
    values = values_in(failed, did("Bash", {"command": "x"}, "no error: calm_line"))
    marks = {text: seen(values, text).in_error for text in ("fine_line", "bad_line", "calm_line")}
    assert marks == {"fine_line": False, "bad_line": True, "calm_line": False}


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
