"""Learning from usage: it converges, one wild report does not wreck it, and it can be kept."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.message import Role, text_message
from clew.tokens import FAMILIES, Calibration, Tally, counter_for
from clew.tokens.families import MAX_FACTOR, before_reports, learn

OTHER = FAMILIES["other"]
AGENT = Tally(words=6_000, digits=800, marks=3_000, framing=200)
CHINESE = Tally(words=300, marks=200, cjk=9_000)

amounts = st.floats(0, 1e6)
tallies = st.builds(Tally, amounts, amounts, amounts, amounts, amounts, amounts, amounts)


def told(*reports: tuple[Tally, int]) -> Calibration:
    calibration = Calibration()
    for counted, reported in reports:
        calibration.report(OTHER, counted, reported)
    return calibration


def expected(calibration: Calibration, counted: Tally) -> float:
    return counted.tokens(calibration.of(OTHER).scale)


@pytest.mark.parametrize(("counted", "truth"), [(AGENT, 1.25), (AGENT, 0.8), (CHINESE, 1.5)])
def test_one_report_brings_the_same_mixture_within_5_percent(counted: Tally, truth: float):
    reported = round(counted.tokens(OTHER.scale) * truth)
    assert expected(told((counted, reported)), counted) == pytest.approx(reported, rel=0.05)


def test_a_report_on_chinese_leaves_english_alone():
    calibration = told((CHINESE, 15_000))
    assert expected(calibration, AGENT) == pytest.approx(AGENT.tokens(OTHER.scale), rel=0.02)


def test_reports_of_different_mixtures_tell_the_kinds_apart():
    truth = (1.2, 0.9, 1.3, 1.5, 1.0, 1.0)
    mixtures = [AGENT, CHINESE, Tally(words=500, digits=5_000, marks=900), Tally(words=4_000, marks=400)]
    calibration = told(*((counted, round(counted.tokens(truth))) for counted in mixtures * 12))
    learnt = calibration.of(OTHER).scale
    assert learnt[:4] == pytest.approx(truth[:4], rel=0.04)


@given(st.integers(1, 10**9))
def test_one_wild_report_moves_a_count_by_less_than_half(wild: int):
    before = AGENT.tokens(OTHER.scale)
    assert expected(told((AGENT, wild)), AGENT) == pytest.approx(before, rel=0.5)


@given(st.integers(1, 10**9))
def test_a_wild_report_among_good_ones_moves_a_count_by_less_than_a_tenth(wild: int):
    good = (AGENT, 12_500)
    assert expected(told(*[good] * 10, (AGENT, wild)), AGENT) == pytest.approx(12_500, rel=0.1)


def test_good_reports_outvote_a_wild_first_one():
    errors = [
        abs(expected(told((AGENT, 10**6), *[(AGENT, 10_000)] * good), AGENT) / 10_000 - 1)
        for good in range(6)
    ]
    assert all(later < earlier for earlier, later in pairwise(errors))
    assert errors[-1] < 0.05


@given(st.lists(st.tuples(tallies, st.integers(-10, 10**12)), max_size=20))
def test_no_reports_whatever_take_a_factor_out_of_bounds(reports: list[tuple[Tally, int]]):
    known = before_reports(OTHER)
    for counted, reported in reports:
        known = learn(OTHER, known, counted, reported)
    assert all(1 / MAX_FACTOR <= factor.value <= MAX_FACTOR for factor in known.factors)
    assert all(0 <= factor.variance < math.inf for factor in known.factors)


@pytest.mark.parametrize(
    ("counted", "reported"), [(Tally(), 500), (Tally(known=500), 900), (AGENT, 0), (AGENT, -7)]
)
def test_an_empty_or_impossible_report_teaches_nothing(counted: Tally, reported: int):
    assert learn(OTHER, before_reports(OTHER), counted, reported) == before_reports(OTHER)


def test_what_a_tokenizer_counted_is_never_scaled():
    counted = Tally(known=10_000, framing=400)
    calibration = told((counted, 10_200))
    assert calibration.of(OTHER).scale[:5] == OTHER.scale[:5]
    assert 10_000 < expected(calibration, counted) < 10_400


@given(st.lists(st.tuples(tallies, st.integers(1, 10**6)), max_size=5))
def test_a_calibration_survives_json(reports: list[tuple[Tally, int]]):
    calibration = told(*reports)
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration


@pytest.mark.parametrize(
    "broken",
    [
        [],
        {"other": 3},
        {"other": {"reports": 1, "factors": {}}},
        {"other": {"reports": 1, "factors": dict.fromkeys(before_reports.__name__)}},
        {
            "other": {
                "reports": 1,
                "factors": {
                    kind: {"value": -1.0, "variance": 0.1}
                    for kind in ("words", "digits", "marks", "cjk", "scripts", "framing")
                },
            }
        },
    ],
)
def test_a_broken_calibration_is_refused(broken: object):
    with pytest.raises(InputError, match="not a token calibration"):
        Calibration.from_json(broken)


@given(st.lists(st.tuples(tallies, st.floats(0.5, 2.0)), min_size=1, max_size=30))
def test_the_scale_of_a_known_model_is_used_unless_the_learnt_one_predicted_better(
    reports: list[tuple[Tally, float]],
):
    claude, calibration = FAMILIES["claude"], Calibration()
    for counted, truth in reports:
        calibration.report(claude, counted, round(counted.tokens(claude.scale) * truth))
        known = calibration.of(claude)
        assert calibration.scale(claude) == (known.scale if known.is_better else claude.scale)
        assert not known.is_better or known.error < known.start_error


def test_reports_with_more_than_was_counted_do_not_make_a_known_model_worse():
    """Hidden thinking makes every other report half again as large; the others are exact."""
    claude, calibration = FAMILIES["claude"], Calibration()
    exact = AGENT.tokens(claude.scale)
    errors = []
    for n in range(60):
        reported = exact * (1.5 if n % 4 == 0 else 1.0)
        errors.append(abs(AGENT.tokens(calibration.scale(claude)) / reported - 1))
        calibration.report(claude, AGENT, round(reported))
    cold = [abs(exact / (exact * (1.5 if n % 4 == 0 else 1.0)) - 1) for n in range(60)]
    assert sum(errors) <= sum(cold) + 0.05


@pytest.mark.parametrize("truth", [0.9, 1.04, 1.25])
def test_an_exact_counter_learns_what_the_provider_really_counts(truth: float):
    counter = counter_for("gpt-4o")
    assert counter.exact
    tally = counter.weigh_all([text_message(Role.USER, "The log is the truth. " * 200)] * 9)
    exact = counter.tokens(tally)
    counter.report_usage(tally, round(exact * truth))
    assert counter.tokens(tally) == exact  # one report may contain what was not counted
    for _ in range(3):
        counter.report_usage(tally, round(exact * truth))
    assert counter.tokens(tally) == pytest.approx(exact * truth, rel=0.01)
    kept = Calibration.from_json(json.loads(json.dumps(counter.calibration.to_json())))
    assert counter_for("gpt-4o", calibration=kept).tokens(tally) == counter.tokens(tally)


def test_an_exact_counter_stays_exact_while_reports_agree_with_it():
    counter = counter_for("gpt-4o")
    text = "The log is the truth; the context is a view of it."
    for n in range(1, 20):
        tally = counter.weigh_all([text_message(Role.USER, text * n)])
        counter.report_usage(tally, counter.tokens(tally) + n % 2)
    assert counter.count_text(text) == 14


def test_a_known_model_whose_tokenizer_changed_is_learnt():
    claude, calibration = FAMILIES["claude"], Calibration()
    truth = round(AGENT.tokens(claude.scale) * 1.3)
    for _ in range(3):
        calibration.report(claude, AGENT, truth)
    assert AGENT.tokens(calibration.scale(claude)) == pytest.approx(truth, rel=0.05)
