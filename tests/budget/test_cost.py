"""Does it pay: the worked example, its laws, and the choice between waiting, pruning and summarising."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.budget import (
    HOUR,
    Cache,
    Compact,
    Cost,
    CostChoice,
    CostMove,
    Estimate,
    Option,
    Outlook,
    Trigger,
    choose,
    compaction_price,
    estimate,
    requests_to_come,
)
from clew.budget.cost import relative_output_price, relative_price
from clew.errors import InputError
from clew.tokens import UNKNOWN, model_named

OPUS = model_named("claude-opus-4-5")  # $5 in, $25 out; reads 0.1, writes 1.25, for an hour 2
WARM, COLD = Cache(OPUS, age_seconds=10), Cache(OPUS, age_seconds=301)
SUMMARY = Option(CostMove.SUMMARISE, 30_000, summary_tokens=3_000)
PRUNING = Option(CostMove.PRUNE, 112_000, stable_tokens=100_000)


def outlook(cache: Cache = WARM, requests: float = 30) -> Outlook:
    return Outlook(150_000, cache, requests)


@pytest.mark.parametrize(
    ("cache", "once", "pays_off_after"), [(WARM, 52_500, 4.375), (COLD, 15_000, 1.25)], ids=["warm", "cold"]
)
def test_the_worked_example(cache: Cache, once: float, pays_off_after: float):
    found = estimate(outlook(cache), SUMMARY)
    assert (found.once.tokens, found.saved.tokens) == pytest.approx((once, 12_000))
    assert found.pays_off_after == pytest.approx(pays_off_after)


def test_a_cache_is_cold_before_the_first_request_and_at_the_end_of_its_life():
    warm = [Cache(OPUS, age, life).warm for age, life in [(None, 300), (299, 300), (300, 300), (300, HOUR)]]
    assert warm == [False, True, False, True]


def test_writing_for_an_hour_costs_twice_the_input():
    found = estimate(outlook(Cache(OPUS, 10, HOUR)), SUMMARY)
    assert found.once.tokens == pytest.approx(3_000 * 5 + 30_000 * 2)


def test_pruning_near_the_end_keeps_the_cache_before_it():
    found = estimate(outlook(), PRUNING)
    assert found.once.tokens == pytest.approx(100_000 * 0.1 + 12_000 * 1.25 - 150_000 * 0.1)
    assert found.saved.tokens == pytest.approx(3_800)


def test_shrinking_a_result_that_was_never_sent_pays_at_once():
    arrived = Outlook(150_000, WARM, 30, fresh_tokens=40_000)
    shrunk = estimate(arrived, Option(CostMove.PRUNE, 112_000, stable_tokens=110_000))
    assert shrunk.once.tokens == pytest.approx(2_000 * 1.25 - 40_000 * 1.25)
    assert str(shrunk) == "prune saves $0.24 at once and $0.019 a request"


def test_another_model_reads_everything_uncached_at_its_own_price():
    haiku = model_named("claude-haiku-4-5")  # a fifth of the price
    found = estimate(outlook(), replace(SUMMARY, writer=haiku))
    pass_tokens = (150_000 + 3_000 * 5) / 5
    assert found.once.tokens == pytest.approx(pass_tokens + 30_000 * 1.25 - 150_000 * 0.1)


def test_a_view_that_is_priced_as_long_saves_more_by_getting_short():
    model = model_named("claude-haiku-5-5")  # five times the price from 100,000 on
    found = estimate(outlook(Cache(model, 10)), Option(CostMove.SUMMARISE, 30_000, summary_tokens=3_000))
    assert found.once.tokens == pytest.approx(3_000 * 5 * 5 + 30_000 * 1.25)
    assert found.saved.tokens == pytest.approx((150_000 * 5 - 30_000) * 0.1)


def test_a_view_that_stays_long_stays_dear():
    cache = Cache(model_named("claude-haiku-5-5"), 10)
    found = estimate(outlook(cache), Option(CostMove.PRUNE, 120_000))
    assert found.once.tokens == pytest.approx((120_000 * 1.25 - 150_000 * 0.1) * 5)
    assert found.saved.tokens == pytest.approx(30_000 * 0.1 * 5)


def test_a_model_without_a_price_is_reckoned_in_tokens():
    found = estimate(outlook(Cache(UNKNOWN, 10)), SUMMARY)
    assert (found.once.dollars, found.net.dollars) == (None, None)
    assert str(found) == (
        "summarise costs 45,000 input tokens once and saves 120,000 input tokens a request: "
        "pays off after 0.4 requests, 30 expected"
    )


@pytest.mark.parametrize(
    ("dollars", "words"),
    [
        (0.0, "$0.00"),
        (0.0012, "$0.0012"),
        (0.264, "$0.26"),
        (0.9951, "$1.00"),
        (12.345, "$12.35"),
        (-0.05, "-$0.05"),
    ],
)
def test_money_is_written_for_people(dollars: float, words: str):
    assert str(Cost(dollars * 1e6, 1.0)) == words


models = st.sampled_from(["claude-opus-4-5", "claude-sonnet-5-5", "gpt-5", "gpt-4o", "gpt-6-sol", "nobody"])
caches = st.builds(Cache, models.map(model_named), st.none() | st.floats(0, 1_000))
sizes = st.integers(1, 200_000)
extra = st.integers(0, 50_000)


@given(caches, sizes, extra, st.integers(0, 10_000), st.integers(0, 5_000), st.floats(0, 100))
def test_a_larger_result_never_pays_better(
    cache: Cache, after: int, more: int, summary: int, longer: int, requests: float
):
    view = Outlook(250_000, cache, requests)
    good = estimate(view, Option(CostMove.SUMMARISE, after, summary_tokens=summary + 1))
    bad = estimate(view, Option(CostMove.SUMMARISE, after + more, summary_tokens=summary + 1 + longer))
    assert good.once.tokens <= bad.once.tokens
    assert good.saved.tokens >= bad.saved.tokens
    assert good.pays_off_after <= bad.pays_off_after
    assert good.net.tokens >= bad.net.tokens


@given(caches, sizes, extra)
def test_a_larger_view_to_start_from_never_pays_worse(cache: Cache, after: int, more: int):
    option = Option(CostMove.SUMMARISE, after, summary_tokens=3_000)
    small = estimate(Outlook(after, cache, 30), option)
    large = estimate(Outlook(after + more, cache, 30), option)
    assert large.pays_off_after <= small.pays_off_after * (1 + 1e-9)
    assert large.net.tokens >= small.net.tokens


@given(caches, st.integers(0, 100_000), st.integers(0, 50_000))
def test_a_longer_stable_prefix_never_costs_more(cache: Cache, stable: int, more: int):
    view = Outlook(250_000, cache, 30)
    short, long = (
        estimate(view, Option(CostMove.PRUNE, 150_000, stable_tokens=kept))
        for kept in (stable, stable + more)
    )
    assert long.once.tokens <= short.once.tokens


@given(caches, sizes, st.floats(0, 100), st.floats(0, 100))
def test_more_requests_to_come_never_make_it_pay_less(cache: Cache, after: int, requests: float, more: float):
    few = estimate(Outlook(250_000, cache, requests), Option(CostMove.PRUNE, after))
    many = estimate(Outlook(250_000, cache, requests + more), Option(CostMove.PRUNE, after))
    assert many.net.tokens >= few.net.tokens


@given(st.sampled_from(["claude-opus-4-5", "gpt-5", "gpt-6-sol"]), sizes)
def test_when_the_cache_is_cold_the_sessions_own_summary_is_never_dearer(name: str, after: int):
    model, option = model_named(name), Option(CostMove.SUMMARISE, after, summary_tokens=3_000)
    warm, cold = (estimate(Outlook(250_000, Cache(model, age), 30), option) for age in (1, 9_999))
    assert cold.once.tokens <= warm.once.tokens + 1e-6


def test_what_does_not_shrink_never_pays_off():
    found = estimate(outlook(), Option(CostMove.SUMMARISE, 150_000, summary_tokens=3_000))
    assert math.isinf(found.pays_off_after)
    assert str(found) == ("summarise costs $1.01 once and saves $0.00 a request: never pays off, 30 expected")


PRESSED = Compact(Trigger.PRESSURE, "the window is nearly full", 60_000)


@pytest.mark.parametrize(
    ("requests", "verdict", "move", "why"),
    [
        (
            30,
            None,
            CostMove.SUMMARISE,
            "summarise costs $0.26 once and saves $0.06 a request: "
            "pays off after 4.4 requests, 30 expected; $1.54 saved in total",
        ),
        (
            5,
            None,
            CostMove.PRUNE,
            "prune costs $0.05 once and saves $0.019 a request: "
            "pays off after 2.7 requests, 5 expected; $0.045 saved in total",
        ),
        (
            1,
            None,
            CostMove.WAIT,
            "wait: prune costs $0.05 once and saves $0.019 a request: "
            "pays off after 2.7 requests, 1 expected",
        ),
        (
            1,
            PRESSED,
            CostMove.SUMMARISE,
            "summarise costs $0.26 once and saves $0.06 a request: pays off after 4.4 requests, 1 expected; "
            "runs although it does not pay: the window is nearly full",
        ),
        (
            30,
            PRESSED,
            CostMove.SUMMARISE,
            "summarise costs $0.26 once and saves $0.06 a request: "
            "pays off after 4.4 requests, 30 expected; $1.54 saved in total",
        ),
        (
            1,
            replace(PRESSED, trigger=Trigger.MILESTONE),
            CostMove.WAIT,
            "wait: prune costs $0.05 once and saves $0.019 a request: "
            "pays off after 2.7 requests, 1 expected",
        ),
    ],
    ids=["many to come", "some to come", "few to come", "pressed", "pressed, pays", "only a good moment"],
)
def test_the_choice_and_its_reason(requests: float, verdict: Compact | None, move: CostMove, why: str):
    choice = choose(outlook(requests=requests), [PRUNING, SUMMARY], verdict)
    assert (choice.move, choice.why) == (move, why)


def test_pressed_but_out_of_reach_the_smallest_is_taken():
    far = replace(PRESSED, target_tokens=1_000)
    assert choose(outlook(), [SUMMARY, PRUNING], far).move is CostMove.SUMMARISE


def test_with_no_option_there_is_nothing_to_do():
    assert choose(outlook(), [], PRESSED) == CostChoice(CostMove.WAIT, "wait: there is nothing to do", ())


def test_a_choice_can_be_kept_in_an_event():
    never = Option(CostMove.SUMMARISE, 150_000, summary_tokens=3_000)
    assert choose(outlook(), [SUMMARY, never]).to_json() == {
        "move": "summarise",
        "why": "summarise costs $0.26 once and saves $0.06 a request: "
        "pays off after 4.4 requests, 30 expected; $1.54 saved in total",
        "estimates": [
            {
                "move": "summarise",
                "after_tokens": 30_000,
                "once_input_tokens": 52_500,
                "once_dollars": pytest.approx(0.2625),
                "saved_input_tokens": 12_000,
                "saved_dollars": pytest.approx(0.06),
                "pays_off_after": pytest.approx(4.375),
                "expected_requests": 30,
            },
            {
                "move": "summarise",
                "after_tokens": 150_000,
                "once_input_tokens": 202_500,
                "once_dollars": pytest.approx(1.0125),
                "saved_input_tokens": 0,
                "saved_dollars": 0.0,
                "pays_off_after": None,
                "expected_requests": 30,
            },
        ],
    }


@pytest.mark.parametrize(
    ("made", "growth", "room", "expected"),
    [
        (0, 0, math.inf, 15),
        (30, 0, math.inf, 30),
        (900, 0, math.inf, 50),
        (30, 2_000, 10_000, 5),
        (30, 2_000, -5, 0),
        (30, 0, 10_000, 30),
    ],
)
def test_as_many_requests_again_within_bounds_and_before_pressure(
    made: int, growth: float, room: float, expected: float
):
    assert requests_to_come(made, growth, room) == expected


@pytest.mark.parametrize(("after", "stable", "summary"), [(10, 11, 0), (10, -1, 0), (10, 0, -1)])
def test_an_option_that_makes_no_sense_is_refused(after: int, stable: int, summary: int):
    with pytest.raises(InputError):
        Option(CostMove.PRUNE, after, stable, summary)


def test_a_summary_that_costs_nothing_more_pays_at_once():
    free = Estimate(SUMMARY, Cost(0), Cost(10), 3)
    assert (free.pays_off_after, free.net) == (0.0, Cost(30))


def test_the_price_of_a_compaction_counts_what_the_cache_loses():
    warm, cold = Cache(OPUS, age_seconds=10.0), Cache(OPUS, age_seconds=4_000.0)
    price = compaction_price(100_000, 30_000, 4_000, warm)
    assert price.missed_tokens == 26_000
    assert price.once.tokens == pytest.approx(26_000 * warm.write + 4_000 * warm.read - 100_000 * warm.read)
    assert price.each.tokens == pytest.approx(70_000 * warm.read)
    assert "26,000 tokens of the next request miss the provider's cache" in str(price)
    assert " less, each one" in str(compaction_price(100_000, 30_000, 4_000, cold))
    assert compaction_price(100_000, 30_000, 4_000, warm, 2_000).once.tokens > price.once.tokens


def test_a_small_cost_has_no_exponent_and_none_has_no_sign():
    assert str(Cost(3, 3.0)) == "$0.000009"
    assert str(Cost(-0.0)) == str(Cost(-0.2)) == "0 input tokens"


def test_a_free_model_has_the_usual_relative_prices():
    free = replace(OPUS, input_price=0.0, output_price=0.0)
    assert relative_output_price(free) == relative_output_price(UNKNOWN)
    assert relative_price(OPUS, free) == relative_price(free, OPUS) == 1.0
