"""What is made to win the measure does not: not by any figure that more than a list of words should win."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew_evals.policies import POLICIES
from clew_evals.policies.fit import as_summary
from clew_evals.score import METRICS, Score, score_of, score_policy
from clew_evals.sessions import Cut
from clew_evals.study import StudyRow
from clew_evals.summary import difference
from tests.evals.sessions import FILLER, agent, call, cut, result, user

CHEATS = ("bare-values", "stuffed")
THINGS = (
    "engine", "kettle", "ladder", "mirror", "pillow", "rocket", "saddle", "turbine",
    "violin", "window", "anchor", "basket", "candle", "drawer", "easel", "flute",
)  # fmt: skip
PLACES = (
    "harbour", "valley", "kitchen", "tunnel", "garden", "bridge", "castle", "desert",
    "forest", "island", "lagoon", "market", "nursery", "orchard", "palace", "quarry",
)  # fmt: skip
TRAITS = (
    "rusty", "narrow", "golden", "silent", "broken", "hollow", "frozen", "gentle",
    "bitter", "clever", "dusty", "eager", "faded", "greasy", "humble", "itchy",
)  # fmt: skip


@pytest.fixture(scope="module")
def given() -> Cut:
    before = [user("Mend the upload. Never touch files under legacy/ at all.")]
    for n, (thing, place, trait) in enumerate(zip(THINGS, PLACES, TRAITS, strict=True)):
        told = f"the {trait} {thing} inside its {place} is called {thing}_{place}_{n}\n{FILLER}"
        before += [
            call(n, "read", path=f"src/app/part_{n}.py"),
            result(n, told, is_error=n == 12),
            agent(
                f"I decided that every {trait} {place} behind our {thing} becomes {place}_{trait}_{n} today."
            ),
        ]
    before += [
        call(
            90,
            "edit",
            path="src/app/x.py",
            old_string="the limit = 500 now",
            new_string="the limit = 800 now",
        ),
        result(90, "ok"),
        call(91, "bash", command="pytest -q"),
        result(91, "3 passed in 0.12s"),
    ]
    after = [
        agent(f"So {THINGS[n]}_{PLACES[n]}_{n} is that {TRAITS[n]} {THINGS[n]} of its {PLACES[n]}.")
        for n in (1, 4, 8, 14)
    ]
    found = cut(before, after).budgeted(0.099)
    assert found.needs is not None
    return replace(found, needs=replace(found.needs, constraints=found.needs.rules))


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_keeps_values_and_nothing_else(name: str, given: Cut):
    score = score_policy(given, POLICIES[name])
    assert score.retained is not None
    assert score.retained > 0.5
    assert (score.explained, score.constraints) == (0, 0)
    assert score.roundtrip is not None
    assert score.roundtrip < 0.2


@pytest.mark.parametrize("name", CHEATS)
def test_clew_is_ahead_of_every_cheat_in_what_a_list_cannot_say(name: str, given: Cut):
    ours, theirs = score_policy(given, POLICIES["clew"]), score_policy(given, POLICIES[name])
    compared = ("explained", "constraints", "tests", "current", "roundtrip", "recoverable")
    assert [metric for metric in compared if getattr(ours, metric) < getattr(theirs, metric)] == []


def test_padding_gains_nothing_and_costs_tokens(given: Cut):
    honest = as_summary("the timeout of stage number 2 is called timeout_stage_2")
    padded = as_summary(
        f"{FILLER * 5}\nthe timeout of stage number 2 is called timeout_stage_2\n{FILLER * 5}"
    )
    plain, more = score_of(given, honest, 0.0), score_of(given, padded, 0.0)
    assert (plain.explained, plain.retained, plain.roundtrip) == (
        more.explained,
        more.retained,
        more.roundtrip,
    )
    assert plain.tokens is not None
    assert more.tokens is not None
    assert more.tokens > plain.tokens


def test_saying_the_old_value_again_loses_to_saying_the_new_one(given: Cut):
    old, new = "the limit = 500 now", "the limit = 800 now"
    said = {
        text: score_of(given, as_summary(text), 0.0) for text in (old, new, f"{old}\n{new}", f"{new}\n{old}")
    }
    assert [(one.stale, one.current) for one in said.values()] == [(1, 0), (0, 1), (0, 1), (0, 0)]


def test_a_cache_reads_anew_from_the_first_message_that_changed(given: Cut):
    whole = score_of(given, given.items, 0.0)
    assert (whole.rewritten, whole.calls) == (0, 0)
    shorter = score_of(given, (*given.items[:-4], *as_summary("the end")), 0.0)
    digest = score_of(given, as_summary("the end"), 0.0)
    assert digest.rewritten == digest.tokens == shorter.rewritten


def row(session: str, policy: str, told: float | None) -> StudyRow:
    empty = Score(**dict.fromkeys(METRICS))
    return StudyRow("set", session, "made", 0.5, 100, 1, 0.1, policy, replace(empty, explained=told))


def test_a_difference_is_taken_over_cuts_that_both_were_asked_at():
    rows = [row("a", "x", 1.0), row("a", "y", 0.5), row("b", "x", 1.0), row("b", "y", None)]
    found = difference(rows, ("x", "y"), 0.1, "explained")
    assert found is not None
    assert (found.value, found.low, found.high, found.cuts) == (0.5, 0.5, 0.5, 1)
    assert difference(rows, ("x", "z"), 0.1, "explained") is None
