"""What is remembered from turn to turn: it survives a restart, and compactions do not nest."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.budget import FRESH, Breaker, Lease, ResultSizes, State, Trigger
from clew.errors import CompactionUnderWay, InputError

states = st.builds(
    State,
    results=st.lists(st.integers(0, 50_000)).map(lambda sizes: seen(sizes).results),
    breaker=st.builds(Breaker, st.integers(0, 9), st.integers(0, 10**6), st.text()),
    after_tokens=st.none() | st.integers(0, 10**6),
    lease=st.none() | st.builds(Lease, st.text(), st.floats(0, 1e10)),
)


def seen(sizes: list[int]) -> State:
    state = FRESH
    for tokens in sizes:
        state = state.saw_result(tokens)
    return state


@given(states)
def test_a_state_survives_a_restart(state: State):
    assert State.from_json(json.loads(json.dumps(state.to_json()))) == state


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {**FRESH.to_json(), "after_tokens": -1},
        {**FRESH.to_json(), "lease": {}},
        {**FRESH.to_json(), "lease": {"holder": 3, "until_unix_s": 1.0}},
        {**FRESH.to_json(), "lease": {"holder": "me", "until_unix_s": "soon"}},
        {**FRESH.to_json(), "lease": {"holder": "me", "until_unix_s": 10**400}},
        {**FRESH.to_json(), "lease": {"holder": "me", "until_unix_s": float("inf")}},
    ],
)
def test_a_broken_state_is_refused(broken: dict[str, object]):
    with pytest.raises(InputError, match="not the state of a budget"):
        State.from_json(broken)


def test_a_compaction_inside_another_is_refused():
    busy = FRESH.begin("summariser 1", at_unix_s=100.0, seconds=60.0)
    with pytest.raises(CompactionUnderWay, match="summariser 1 is compacting"):
        busy.begin("summariser 2", at_unix_s=159.9)


def test_a_compaction_whose_process_died_holds_nothing_up_for_long():
    busy = FRESH.begin("gone", at_unix_s=100.0, seconds=60.0)
    assert busy.begin("next", at_unix_s=160.0, seconds=60.0).lease == Lease("next", 220.0)


@pytest.mark.parametrize(
    "late",
    [
        lambda state, holder: state.ended(Trigger.PRESSURE, 100, 60, 60, holder),
        lambda state, holder: state.failed(100, "timeout", holder),
        lambda state, holder: state.released(holder),
    ],
    ids=["ended", "failed", "released"],
)
def test_a_compaction_that_outlived_its_lease_does_not_release_the_next_one(late):
    second = FRESH.begin("first", at_unix_s=100.0, seconds=60.0).begin("second", at_unix_s=160.0)
    assert late(second, "first").lease == second.lease
    assert late(second, "second").lease is None


def test_a_compaction_that_took_effect_is_remembered_by_what_it_left():
    busy = State(breaker=Breaker(2, 90, "timeout")).begin("me", 0.0)
    assert busy.ended(Trigger.PRESSURE, 100, 60, 60) == State(after_tokens=60)


def test_a_compaction_that_failed_is_remembered_by_the_breaker():
    busy = State(after_tokens=50).begin("me", 0.0)
    assert busy.failed(100, "timeout") == State(breaker=Breaker(1, 100, "timeout"), after_tokens=50)


def test_results_are_remembered_by_size():
    assert seen([100, 100, 9_000]).results == ResultSizes(((112, 2), (10_240, 1)), 9_000)
