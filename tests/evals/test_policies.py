"""Every policy keeps its budget, and none but the ceiling sees the future."""

from __future__ import annotations

import pytest

from clew.errors import PinsDoNotFit
from clew_evals.policies import POLICIES, EvalPolicy
from clew_evals.score import Score, score_policy
from clew_evals.sessions import Cut
from tests.evals.sessions import FILLER, agent, call, cut, result, user

BUDGETED = [policy for policy in POLICIES.values() if policy.keeps_budget]


@pytest.fixture(scope="module")
def long_cut() -> Cut:
    before = [user("Mend the upload. Never touch files under legacy/ at all.")]
    for n in range(30):
        before += [
            call(n, "read", path=f"src/app/part_{n}.py"),
            result(n, f"the timeout of stage number {n} is called timeout_stage_{n}\n{FILLER}"),
            agent(f"Part {n} is read, the timeout there seems fine to me."),
        ]
    after = [agent(f"So timeout_stage_{n} is the timeout of that stage.") for n in (2, 9, 15, 27)]
    return cut(before, after)


@pytest.mark.parametrize("share", [0.05, 0.10, 0.40])
@pytest.mark.parametrize("policy", BUDGETED, ids=lambda one: one.name)
def test_a_view_is_within_its_budget_and_providers_take_it(policy: EvalPolicy, share: float, long_cut: Cut):
    score = score_policy(long_cut.budgeted(share), policy)
    assert (score.over, score.invalid) == (0, 0)
    assert score.share is not None
    assert score.share <= share


def test_a_policy_is_not_shown_the_future(long_cut: Cut):
    def peek(given: Cut) -> tuple[()]:
        assert given.later == ()
        assert given.needs is None
        return ()

    assert score_policy(long_cut.budgeted(0.1), EvalPolicy("peek", peek)).retained == 0


def at_ten_percent(name: str, given: Cut) -> Score:
    return score_policy(given.budgeted(0.10), POLICIES[name])


def test_the_ceiling_reaches_everything(long_cut: Cut):
    score = at_ten_percent("oracle", long_cut)
    assert (score.retained, score.in_context, score.explained) == (1, 1, 1)


def test_a_bare_list_has_the_values_and_tells_nothing(long_cut: Cut):
    score = at_ten_percent("bare-values", long_cut)
    assert (score.retained, score.explained) == (1, 0)


def test_a_tail_knows_nothing_of_what_is_far(long_cut: Cut):
    assert at_ten_percent("tail", long_cut).far == 0


def test_what_everything_holds_is_scored_in_full(long_cut: Cut):
    whole = EvalPolicy("whole", lambda given: given.items)
    score = score_policy(long_cut.budgeted(1.0), whole)
    assert (score.share, score.retained, score.explained, score.refetch_tokens) == (1, 1, 1, 0)


def test_what_a_search_brings_back_is_recoverable(long_cut: Cut):
    found = EvalPolicy("memory", lambda _: (), recall=lambda given, probe: given.readable.text)
    score = score_policy(long_cut.budgeted(0.1), found)
    assert (score.retained, score.recoverable) == (0, 1)


def test_a_policy_that_gives_up_has_kept_nothing(long_cut: Cut):
    def give_up(_: Cut) -> tuple[()]:
        raise PinsDoNotFit

    score = score_policy(long_cut.budgeted(0.1), EvalPolicy("gives up", give_up))
    assert (score.refused, score.retained, score.share, score.invalid) == (1, 0, 0, 0)


def test_losing_more_costs_more(long_cut: Cut):
    nothing = score_policy(long_cut.budgeted(0.1), EvalPolicy("nothing", lambda _: ()))
    tail = at_ten_percent("tail", long_cut)
    assert nothing.refetch_tokens is not None
    assert tail.refetch_tokens is not None
    assert nothing.refetch_tokens > tail.refetch_tokens > 0
    assert nothing.invalid == 1
