"""Soft, scoped and superseded rules outlive chained compactions, also against hostile tool results."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import constraints_decay as decay


@pytest.mark.parametrize("rule", decay.SOFT[::3])
def test_a_soft_rule_of_an_organisation_is_in_view_after_three_compactions(rule):
    assert rule in decay.view_after([rule], 3)


@pytest.mark.parametrize(("rule", "place"), decay.SCOPED[::2])
def test_a_scoped_rule_keeps_its_words_and_its_path(rule, place):
    shown = decay.view_after([rule], 2)
    assert rule in shown
    assert place in shown


@pytest.mark.parametrize(("old", "new"), [pair for pair in decay.SUPERSEDED if "jest" not in pair[0]])
def test_a_superseded_rule_ends_and_the_new_words_are_in_view(old, new):
    assert decay.is_replaced(old, new)
    assert new in decay.view_after([old, new], 2)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "topic"), decay.TARGETS)
def test_no_attack_that_is_searched_for_evicts_a_rule(rule, topic):
    left, moves = decay.search_attack(rule, topic, tries=8)
    assert left > 0, moves
