"""Each kind of probe is found in a session, kept by a view that says it, and lost by one that says less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clew_evals.find_needs import needs_of
from clew_evals.policies.fit import as_summary
from clew_evals.score import Score, score_of
from clew_evals.sessions import Cut, Label
from tests.evals.sessions import FILLER, agent, call, cut, result, user

RULE = "Never modify generated files under the vendor folder."
DECISION = "Let us go with the append-only ledger for the billing service."
FAILURE = "cannot open the database file for writing"
TODO = {"content": "write the migration of the orders", "status": "pending"}
LONG = "the retry limit of the upload worker is called wrk_cap_max\n" + FILLER
OLD, NEW = "limit = load(300)", "limit = load(450)"
BEFORE = [
    user(f"{RULE} {DECISION}"),
    call(1, "Edit", file_path="src/app/limits.py", old_string=OLD, new_string=NEW),
    result(1, "done"),
    call(2, "shell", command="migrate"),
    result(2, FAILURE, is_error=True),
    call(3, "TodoWrite", todos=[TODO]),
    result(3, "noted"),
    call(4, "read", path="src/app/upload.py"),
    result(4, LONG),
    call(5, "shell", command="pytest"),
    result(5, "3 failed, 12 passed in 2s"),
]
AFTER = [agent("So wrk_cap_max is the retry limit of the worker.")]


@pytest.fixture(scope="module")
def given() -> Cut:
    found = cut(BEFORE, AFTER)
    labels = [Label(RULE, is_decision=False), Label(DECISION, is_decision=True)]
    return replace(found, needs=needs_of(found, lambda _: False, labels))


def scored(given: Cut, *lines: str) -> Score:
    return score_of(given, as_summary("\n".join(lines)), 0.0)


@pytest.mark.parametrize(
    ("figure", "said", "almost"),
    [
        ("constraints", f"{RULE}\n{DECISION}", "Some files are generated, the vendor says."),
        ("decisions", DECISION, "The billing service is to have a ledger."),
        ("open", TODO["content"], "the orders wait"),
        ("files", "src/app/limits.py was changed", "src/app/upload.py was changed"),
        ("failed", f"migrate: {FAILURE}", "migrate: the database"),
        ("tests", "the last run: 3 failed", "the last run: 12 passed"),
        ("current", NEW, OLD),
        ("retained", "wrk_cap_max", "wrk_cap"),
        ("in_context", "retry limit of the worker: wrk_cap_max", "wrk_cap_max"),
        ("explained", "the retry limit of the upload worker is called wrk_cap_max", "wrk_cap_max"),
    ],
)
def test_a_figure_is_one_where_it_is_said_and_less_where_it_is_only_touched(
    figure: str, said: str, almost: str, given: Cut
):
    assert getattr(scored(given, said), figure) == 1
    assert getattr(scored(given, almost), figure) == 0


def test_what_nobody_could_ask_has_no_figure(given: Cut):
    assert scored(given, "nothing").user is None  # no value here was the user's first


def test_the_old_value_alone_is_stale_and_neither_is_not(given: Cut):
    views = (OLD, f"{OLD}\n{NEW}", "nothing")
    assert [scored(given, view).stale for view in views] == [1, 0, 0]


def test_what_was_lost_is_priced_at_the_smallest_output_that_holds_it(given: Cut):
    assert given.needs is not None
    (probe,) = given.needs.probes
    assert probe.fetch is not None
    assert scored(given, "nothing").refetch_tokens == probe.fetch[1] > 100
    assert scored(given, "wrk_cap_max").refetch_tokens == 0
