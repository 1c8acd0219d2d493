"""A rule of a user is pinned only if the fitted model calls it one, too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.ledger import Ledger
from clew.message import Item, Role, Trust, text_message
from clew.rules import Force, find, find_candidates
from clew.rules.find import binding_sentences
from clew.rules.wording import features_of, wording_score


@pytest.mark.parametrize(
    "text", ["I prefer truncation.", "I prefer the old look", "we should always show it"]
)
def test_what_only_the_tables_call_a_rule_is_likely_and_not_pinned(text):
    (found,) = find_candidates(text_message(Role.USER, text))
    assert found.force is Force.LIKELY
    assert found.because.startswith("it may be a rule: ")
    ledger = Ledger()
    ledger.add(Item("m1", text_message(Role.USER, text)))
    assert not ledger.pins.all


@pytest.mark.parametrize(
    "text", ["I prefer short answers.", "Never edit vendor/jquery.js.", "no auto commit from now on"]
)
def test_what_both_judges_call_a_rule_is_pinned(text):
    assert [one.quote for one in find(text_message(Role.USER, text))] == [text]


def test_a_rule_of_the_system_needs_no_second_opinion():
    (found,) = find(text_message(Role.SYSTEM, "I prefer truncation."))
    assert found.force is Force.STANDING


@given(st.from_regex(r"[a-z]{1,8}/[a-z]{1,8}\.py", fullmatch=True), st.integers(0, 99_999))
def test_paths_and_numbers_do_not_change_the_score(path, number):
    first, second = (
        features(f"Never edit {one} after {count} tries.") for one, count in ((path, number), ("a/b.py", 7))
    )
    assert first == second


def features(text: str) -> frozenset[str]:
    ((sentence, seen),) = binding_sentences(text, Trust.USER)
    return features_of(sentence, seen._replace(length=0), "it forbids an act of the agent")


def test_the_length_of_the_message_counts():
    ((sentence, seen),) = binding_sentences("Only update the report.", Trust.USER)
    short, long = (
        wording_score(sentence, seen._replace(length=length), "it limits what the agent works on")
        for length in (30, 9_000)
    )
    assert short != long
