"""What a claim asserts is found, and looked up in the spelling of its source."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.compaction.verify.assertions import (
    Assertion,
    _is_number_in,
    _is_one_of_many,
    _is_one_path,
    _number,
    assertions,
    is_found,
    negated_word,
    support,
    unmentioned_action,
)
from clew.compaction.verify.wording import Wording, begins_word
from clew.ledger.kinds import ValueKind
from tests.conftest import tries


def asserted(text: str) -> set[str]:
    return {found.text for found in assertions(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 of 12 tests failed in src/app/main.py", {"3", "12", "src/app/main.py"}),
        ("1. read it\n2. mend it", set()),
        ("it costs $1,250.50 at 12:30", {"$1,250.50", "1,250.50", "12:30", "12", "30"}),
        ("step 4: version 1.2.3 of v2", {"4", "1.2.3", "v2"}),
        ("he told Berta about it", {"Berta"}),
        ("Der Nutzer hat die Datenbank und den Server genannt", set()),
        ('it said "no space left" and `make all`', {"no space left", "make all"}),
        ("nothing to look up here", set()),
    ],
)
def test_values_numbers_quotes_and_names_are_asserted(text: str, expected: set[str]):
    assert asserted(text) == expected


@pytest.mark.parametrize(
    ("number", "source", "found"),
    [
        ("1,250", "total = 1250", True),
        ("1250", "total = 1,250", True),
        ("1250", "total = 1_250", True),
        ("250", "total = 1,250", False),
        ("3", "13 failed", False),
        ("3", "3.14", False),
        ("3", "1,3 and 5", True),
        ("12 ms", "took 12ms", True),
        ("12ms", "took 12 ms", True),
        ("50%", "50 % done", True),
        ("2024-01-05", "on 2024-01-05T10:00", True),
        ("2024-05-01", "on 2024-01-05", False),
    ],
)
def test_a_number_is_the_same_however_it_is_written(number: str, source: str, found: bool):
    assert is_found(Assertion(ValueKind.NUMBER, number), Wording(source)) is found


@pytest.mark.parametrize(
    ("path", "source", "found"),
    [
        ("src/app/main.py", "see src/app/main.py.", True),
        ("app/main.py", "see /repo/src/app/main.py:12", True),
        ("main.py", "see src/app/main.py", True),
        ("main.py", "src/app/main.py and src/web/main.py", False),
        ("app/main.py", "src/app/main.py and src/web/main.py", True),
        ("/repo/src/app/main.py", "see src/app/main.py", False),
        ("src/app/main.py", "src/app/main.pyc", False),
        ("src/app", "src/app/main.py", True),
        ("legacy/", "legacy/db.py", True),
        ("legacy/", "the legacy code", False),
    ],
)
def test_a_path_may_be_shortened_to_its_end_where_that_means_one(path: str, source: str, found: bool):
    assert is_found(Assertion(ValueKind.PATH, path), Wording(source)) is found


def test_the_share_of_own_words_ignores_endings_and_values():
    source = Wording("The connection to the database timed out").plain
    assert support("database connections were closed at app.db.connect", source) == pytest.approx(1 / 2)
    assert support("see app.db.connect", "see there") == 1.0
    assert support("app.db.connect", source) == 1.0


def test_of_few_words_the_short_ones_count_as_well():
    assert support("The rm of a db", Wording("a form, feedback").plain) == 0.0
    assert support("The rm of a db", Wording("rm the db").plain) == 1.0


def test_scripts_without_spaces_are_compared_by_pairs_of_signs():
    source = Wording("请不要修改旧代码目录").plain
    assert support("不要修改旧代码", source) == 1.0
    assert support("数据库连接超时了", source) == 0.0


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("the tests passed", "2 tests failed", ("passed", "failed")),
        ("the tests failed", "2 tests failed", None),
        ("tests passed", "2 failed, 3 passed", None),
        ("the tests passed", "the tests: 12 ok, 0 failed", None),
        ("the tests passed", "12 ok, failures: 0", None),
        ("you can push", "you can't push", ("can", "can't")),
        ("it must be signed", "it must not be signed", ("must", "must not")),
        ("it must be signed", "it must be signed, it must not be old", None),
        ("it cannot be changed", "you can read it; it cannot be modified", None),
        ("run it without the flag", "with the flag it hangs, run it without", None),
        ("the key is invalid", "a valid key or an invalid one", None),
    ],
)
def test_a_word_is_turned_where_only_its_opposite_stands_in_the_source(
    text: str, source: str, expected: tuple[str, str] | None
):
    assert negated_word(text, Wording(source).plain) == expected


@pytest.mark.parametrize(
    ("number", "source", "found"),
    [("30", "commit 30abc1f", False), ("30", "30abc1f, 30 tests", True), ("30", "after 30ms", True)],
)
def test_the_beginning_of_a_hash_is_no_number(number: str, source: str, found: bool):
    assert is_found(Assertion(ValueKind.NUMBER, number), Wording(source)) is found


NUMBERS = ("3", "12", "250", "1250", "1,250", "0.5", "12%", "30 days", "5ms", "5 ms", "$12", "1_250")
PATHS = ("a.py", "b/a.py", "src/", "c-a.py", "src/b/a.py")
SIGNS = ("", " ", ".", ",", "_", "-", "/", "x", "1", "250", ":", "$", "abc1f")
TEXTS = st.lists(st.sampled_from([*NUMBERS, *PATHS, *SIGNS]), max_size=7).map("".join)


@settings(max_examples=tries(100, 500))
@given(st.sampled_from(NUMBERS), TEXTS)
def test_a_number_that_stands_as_written_is_found_as_by_its_pattern(number: str, text: str):
    by_pattern = _number(number).search(text) is not None
    assert _is_number_in(number, text) == by_pattern


@settings(max_examples=tries(100, 500))
@given(st.sampled_from(PATHS), TEXTS)
def test_a_path_that_is_named_once_is_found_as_one_of_many(path: str, text: str):
    assert _is_one_path(path, text) == _is_one_of_many(path, text)


@given(st.sampled_from(["ann", "a", "é"]), st.text("an é_.1", max_size=8))
def test_a_name_begins_a_word(name: str, text: str):
    by_pattern = re.search(rf"(?<![^\W_]){name}", text) is not None
    assert begins_word(name, text) == by_pattern


@pytest.mark.parametrize(
    "done", ["wipe", "wiped", "merging", "merged", "purged", "erased", "deleted", "forced", "sharing"]
)
def test_an_action_that_is_hard_to_undo_is_recognised_in_every_form(done: str):
    assert unmentioned_action(f"the branch is to be {done}", "we looked at the branch")
    assert not unmentioned_action(f"the branch is to be {done}", f"please have it {done} today")


def test_text_between_two_short_quotations_is_no_quotation():
    quoted = 'The key "tax" was renamed, now called "vat".'
    assert ValueKind.QUOTED not in {asserted.kind for asserted in assertions(quoted)}
