"""The breaker: it opens after repeated failure, lets one through after growth, and survives a restart."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.budget import Breaker, Stance
from clew.errors import InputError

OPEN = Breaker(3, 100_000, "the summary was empty")

breakers = st.builds(Breaker, st.integers(0, 9), st.integers(0, 10**6), st.text())


def test_it_opens_at_the_third_failure_in_a_row():
    breaker, stances = Breaker(), []
    for _ in range(4):
        stances.append(breaker.stance(100_000))
        breaker = breaker.failed(100_000, "timeout")
    assert stances == [Stance.CLOSED, Stance.CLOSED, Stance.CLOSED, Stance.OPEN]


@pytest.mark.parametrize(
    ("used", "asked", "stance"),
    [
        (100_000, False, Stance.OPEN),
        (110_000, False, Stance.OPEN),
        (110_001, False, Stance.HALF_OPEN),
        (100_000, True, Stance.HALF_OPEN),
        (5_000, False, Stance.OPEN),
    ],
)
def test_one_more_try_after_growth_or_when_asked(used: int, asked: bool, stance: Stance):
    assert OPEN.stance(used, asked) is stance


def test_a_failed_second_chance_opens_it_again_until_more_has_come():
    again = OPEN.failed(115_000, "the summary was empty")
    assert (again.stance(115_000), again.stance(130_000)) == (Stance.OPEN, Stance.HALF_OPEN)


@pytest.mark.parametrize(
    ("before", "after", "target", "failures"),
    [
        (100, 60, 60, 0),
        (100, 99, 99, 0),
        (100, 95, 60, 0),
        (100, 96, 60, 1),
        (100, 100, 60, 1),
        (100, 130, 60, 1),
        (100, 100, 100, 1),
    ],
    ids=[
        "target reached",
        "target near",
        "some progress",
        "hardly any",
        "no smaller",
        "larger",
        "nothing done",
    ],
)
def test_what_is_not_smaller_has_failed(before: int, after: int, target: int, failures: int):
    assert Breaker().ended(before, after, target).failures == failures


@given(breakers)
def test_a_success_closes_it_wherever_it_stood(breaker: Breaker):
    assert breaker.ended(100, 50, 60) == Breaker()


def test_it_asks_for_a_narrower_task_or_a_larger_budget():
    assert OPEN.question == (
        "compaction failed 3 times in a row (last: the summary was empty); give a narrower task, or a larger "
        "budget: a model with a larger window, fewer tools, fewer pins"
    )


@given(breakers)
def test_it_survives_a_restart(breaker: Breaker):
    assert Breaker.from_json(json.loads(json.dumps(breaker.to_json()))) == breaker


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"failures": "3", "failed_at_tokens": 0, "reason": ""},
        {"failures": -1, "failed_at_tokens": 0, "reason": ""},
        {"failures": True, "failed_at_tokens": 0, "reason": ""},
        {"failures": 3, "failed_at_tokens": 0, "reason": None},
    ],
)
def test_a_broken_one_is_refused(broken: dict[str, object]):
    with pytest.raises(InputError, match="not a breaker"):
        Breaker.from_json(broken)
