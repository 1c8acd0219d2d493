"""A thousand turns: compaction does not thrash, and there is room for what comes next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.budget import (
    DEFAULT,
    EARLY,
    Compact,
    Fill,
    Levels,
    Limit,
    Milestone,
    Policy,
    Signal,
    State,
    Stop,
    Trigger,
    Verdict,
    Window,
    judge,
    levels_for,
    window_for,
)
from clew.tokens import model_named
from tests.conftest import tries

FIXED = 10_000
WINDOW = Window(200_000, 8_000)
POLICIES = [DEFAULT, EARLY, Policy(compact_at=Limit(share=0.9, tokens=90_000), down_to=Limit(share=0.2))]


class Turn(NamedTuple):
    used: int
    verdict: Verdict
    levels: Levels
    after: int
    """What was left in the window: less than ``used`` after a compaction."""


def live(
    rng: Random, growth: int, policy: Policy, leave: Callable[[Compact, int], int], milestones: bool = False
) -> Iterator[Turn]:
    """Live through 1,000 turns that add ``growth`` tokens each on the average, some ten times as much."""
    state, used = State(), FIXED
    for _ in range(1_000):
        used += min(round(rng.expovariate(1 / growth)), WINDOW.usable_tokens // 5)
        fill = Fill(WINDOW, used, FIXED)
        signals: Iterable[Signal] = [Milestone("m")] if milestones and rng.random() < 0.3 else []
        verdict = judge(fill, policy, signals, state)
        levels, before = levels_for(fill, policy, state.results), used
        if isinstance(verdict, Compact):
            used = leave(verdict, used)
            state = state.begin("simulation", 0.0).ended(verdict.trigger, before, used, verdict.target_tokens)
        yield Turn(before, verdict, levels, used)


def compactions(turns: Iterable[Turn]) -> list[Turn]:
    return [turn for turn in turns if isinstance(turn.verdict, Compact)]


seeds = st.integers(0, 2**32).map(Random)
growths = st.integers(50, 30_000)


@settings(max_examples=tries(20, 40))
@given(seeds, growths, st.sampled_from(POLICIES))
def test_between_two_compactions_at_least_the_band_comes_in(rng: Random, growth: int, policy: Policy):
    found = compactions(live(rng, growth, policy, lambda verdict, _: verdict.target_tokens))
    for first, second in pairwise(found):
        assert second.used - first.after >= second.levels.band > 0


@settings(max_examples=tries(20, 40))
@given(seeds, growths, st.sampled_from(POLICIES), st.booleans())
def test_a_compaction_that_misses_its_target_is_not_repeated_within_the_band_unless_the_window_is_full(
    rng: Random, growth: int, policy: Policy, milestones: bool
):
    def somewhere(_: Compact, used: int) -> int:
        return rng.randint(FIXED, used - used // 10)

    found = compactions(live(rng, growth, policy, somewhere, milestones))
    for first, second in pairwise(found):
        assert second.used - first.after >= second.levels.band or second.used > second.levels.full_at


@settings(max_examples=20)
@given(seeds, growths, st.sampled_from(POLICIES))
def test_a_full_window_is_always_compacted_and_then_under_the_mark(rng: Random, growth: int, policy: Policy):
    for turn in live(rng, growth, policy, lambda verdict, _: verdict.target_tokens):
        assert turn.after < turn.levels.compact_at


def test_a_session_that_cannot_be_compacted_stops_after_three_tries():
    turns = list(live(Random(1), 2_000, DEFAULT, lambda _, used: used))
    tries = len(compactions(turns))
    stopped = [turn for turn in turns if isinstance(turn.verdict, Stop)]
    assert 3 <= tries <= 100
    assert len(stopped) > 500
    assert turns[-1].used > 10 * WINDOW.tokens


@pytest.mark.parametrize("model", ["gpt-4", "gpt-3.5-turbo", "gpt-4o", "claude-opus-4-5", "gpt-5", "gpt-4.1"])
@pytest.mark.parametrize("policy", [DEFAULT, EARLY])
def test_results_of_20_percent_of_the_window_never_overflow_it(model: str, policy: Policy):
    window = window_for(model_named(model), policy)
    fixed = window.tokens // 50
    summary_call = policy.summary_call.of(window.usable_tokens)
    rng, state, used = Random(model), State(), fixed
    for _ in range(1_000):
        result = window.tokens // 5
        used += rng.randint(0, window.reply_tokens) + result
        state = state.saw_result(result)
        assert used + summary_call <= window.tokens  # the call for a summary fits, whatever came
        verdict = judge(Fill(window, used, fixed), policy, (), state)
        if isinstance(verdict, Compact):
            state = state.ended(verdict.trigger, used, verdict.target_tokens, verdict.target_tokens)
            used = verdict.target_tokens
        assert used <= window.usable_tokens  # and so does the request


def test_a_giant_that_nobody_expected_is_compacted_before_it_is_sent():
    verdict = judge(Fill(WINDOW, 160_000 + 60_000, FIXED))
    assert isinstance(verdict, Compact)
    assert (verdict.trigger, verdict.target_tokens) == (Trigger.PRESSURE, 57_600)


def test_an_undone_compaction_is_not_done_again_at_once():
    state = State(after_tokens=115_200)
    restored = Fill(WINDOW, 165_000, FIXED)
    assert isinstance(judge(restored, state=state), Compact)
    assert not isinstance(judge(restored, state=state.undone(165_000)), Compact)
    assert isinstance(judge(Fill(WINDOW, 185_000, FIXED), state=state.undone(165_000)), Compact)


def test_shrinking_one_result_does_not_hold_up_the_next_compaction():
    state = State().ended(Trigger.OVERSIZED, 190_000, 160_000, 160_000)
    assert isinstance(judge(Fill(WINDOW, 164_000, FIXED), state=state), Compact)


def test_a_count_just_above_the_usual_target_does_not_compact_every_turn():
    policy = Policy(compact_at=Limit(tokens=int(WINDOW.usable_tokens * 0.31)))
    found = live(Random(3), 200, policy, lambda verdict, _: verdict.target_tokens)
    first = next(turn for turn in found if isinstance(turn.verdict, Compact))
    assert first.after < 0.6 * first.used
