"""What left the window is one search away."""

from __future__ import annotations

import pytest

from clew_evals.policies import POLICIES, EvalPolicy
from clew_evals.policies.policy import by_value, by_words
from clew_evals.score import score_policy
from clew_evals.sessions import Cut
from tests.evals.sessions import FILLER, agent, call, cut, needs, result, user


@pytest.fixture(scope="module")
def given() -> Cut:
    before = [user("Mend the upload.")]
    for n in range(20):
        told = f"the timeout of stage number {n} is called timeout_stage_{n}"
        before += [call(n, "read", path=f"src/app/part_{n}.py"), result(n, f"{told}\n{FILLER}")]
        before += [agent("That part is read.")]
    return cut(before, [agent("So timeout_stage_7 is the timeout of stage number 7.")])


def test_a_search_for_a_value_finds_the_message_that_holds_it(given: Cut):
    (probe,) = needs(given).probes
    assert "timeout_stage_7\n" in by_value(given, probe)


def test_a_search_for_the_words_around_its_use_finds_it_too(given: Cut):
    (probe,) = needs(given).probes
    assert "timeout_stage_7\n" in by_words(given, probe)


def test_who_drops_all_and_can_search_has_lost_nothing(given: Cut):
    searching = EvalPolicy("searching", lambda _: (), recall=by_value)
    score = score_policy(given.budgeted(0.1), searching)
    assert (score.retained, score.recoverable, score.recalled) == (0, 1, 0)


def test_a_policy_without_a_memory_can_bring_nothing_back(given: Cut):
    score = score_policy(given.budgeted(0.05), POLICIES["tail"])
    assert (score.retained, score.recoverable, score.recalled) == (0, 0, 0)


def test_what_another_session_said_is_not_found(given: Cut):
    (probe,) = needs(given).probes
    by_value(given, probe)
    other = cut([user("Mend the download."), agent("The limit there is fine.")], [agent("Done.")])
    assert "timeout_stage_7" not in by_value(other, probe)
