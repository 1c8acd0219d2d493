"""Chains at a real window are compared with one compaction of the same history to the same size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.errors import BudgetExceeded, ClewError, CompactionRefused
from clew_evals.chains import after_times, grow_view, growth_of, mean_drift, plant_rule
from clew_evals.policies import POLICIES, EvalPolicy
from clew_evals.policies.fit import as_summary, newest_that_fit
from clew_evals.sessions import COUNTER, Cut
from tests.cli.conftest import Run, clew
from tests.evals.sessions import FILLER, agent, call, cut, needs, result, user, write_sessions

__all__ = ["clew"]
WINDOW, TARGET = 4_000, 1_000


@pytest.fixture(scope="module")
def long_cut() -> Cut:
    before = [user("Fix the upload. Never touch files under legacy/ at all.")]
    for n in range(40):
        before += [
            call(n, "read", path=f"src/part_{n}.py"),
            result(n, f"limit_of_part_{n} is here\n{FILLER}"),
        ]
    given = cut(before, [agent("So limit_of_part_3 is here, and limit_of_part_39 is here, too.")])
    return plant_rule(given, needs(given))


def budgeted(given: Cut) -> Cut:
    return given.budgeted(TARGET / given.tokens)


def test_a_view_is_compacted_only_when_the_window_is_full(long_cut: Cut):
    sizes: list[int] = []

    def keep_newest(given: Cut) -> object:
        sizes.append(given.tokens)
        return newest_that_fit(given.items, given.budget_tokens)

    last = grow_view(budgeted(long_cut), EvalPolicy("newest", keep_newest), WINDOW)  # type: ignore[arg-type]
    assert last.compactions == len(sizes) > 2
    assert max(sizes) <= WINDOW
    assert min(sizes[:-1]) > WINDOW - 600  # but for the last, at the cut
    assert not last.refused
    assert COUNTER.count_all(item.message for item in last.view) <= TARGET


def test_what_is_lost_on_the_way_is_the_difference_to_one_compaction(long_cut: Cut):
    def first_words(given: Cut) -> object:
        return as_summary("limit_of_part_3" if "limit_of_part_3 " in given.readable.text else "nothing")

    growth = growth_of(budgeted(long_cut), EvalPolicy("first", first_words), WINDOW, "s")  # type: ignore[arg-type]
    assert (growth.chained.retained, growth.at_once.retained) == (0, 0.5)
    found = mean_drift([growth], "retained")
    assert found is not None
    assert found.value == -0.5
    assert mean_drift([growth], "user") is None


def test_clew_keeps_the_planted_rule_through_a_chain(long_cut: Cut):
    growth = growth_of(budgeted(long_cut), POLICIES["clew"], WINDOW, "s")
    assert (growth.chained.constraints, growth.at_once.constraints) == (1, 1)
    assert growth.compactions > 2


@pytest.mark.parametrize("error", [BudgetExceeded, CompactionRefused])
def test_a_policy_that_refuses_has_kept_nothing(long_cut: Cut, error: type[ClewError]):
    def refuse(given: Cut) -> object:
        raise error("too much", "give more room")

    policy = EvalPolicy("no", refuse)  # type: ignore[arg-type]
    growth = growth_of(budgeted(long_cut), policy, WINDOW, "s")
    assert (growth.chained.refused, growth.at_once.refused) == (1, 1)
    assert after_times(budgeted(long_cut), policy, 5).refused == 1


def test_the_command_prints_chains_and_refuses_a_window_below_its_target(clew: Run, tmp_path: Path):
    folder = str(write_sessions(tmp_path / "sessions", 2))
    options = ("--least", "1000", "--policy", "tail", "--jobs", "1")
    done = clew("eval", folder, *options, "--grow", "2000:700", "--json")
    grown_there = json.loads(done.stdout)["grown"]["tail"]
    assert grown_there["sessions"] == 2
    assert grown_there["compactions"] > 2
    assert grown_there["difference"]["retained"] <= 0
    assert "chains at a real window" in clew("eval", folder, *options, "--grow", "2000:700").stdout
    assert clew("eval", folder, "--grow", "700:2000").returncode == 2
