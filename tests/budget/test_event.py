"""The TokenBudget event: every slice, and it reads back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.budget import Calm, Compact, Region, Stop, TokenBudget, Trigger, Warn, allot
from clew.errors import InputError

verdicts = st.one_of(
    st.builds(Calm, st.text()),
    st.builds(Warn, st.text()),
    st.builds(Compact, st.sampled_from(Trigger), st.text(), st.integers(0, 10**6)),
    st.builds(Stop, st.text(), st.booleans()),
)
allotments = st.builds(
    allot,
    st.integers(0, 10**6).map(lambda room: room + 300_000),
    st.dictionaries(st.sampled_from(Region), st.integers(0, 100_000)),
)


@given(st.builds(TokenBudget, allotments, verdicts))
def test_a_budget_survives_json(budget: TokenBudget):
    assert TokenBudget.from_json(json.loads(json.dumps(budget.to_json()))) == budget


def test_a_body_holds_every_slice_what_was_cut_and_why_and_the_verdict():
    verdict = Compact(Trigger.PRESSURE, "it is full", 600)
    body: Any = TokenBudget(allot(2_000, {Region.MEMORY: 700}), verdict).to_json()
    assert [entry["region"] for entry in body["slices"]] == [region.value for region in Region]
    assert body["slices"][4] == {
        "region": "memory",
        "asked": 700,
        "given": 160,
        "cut": 540,
        "why": "notes from memory that match the task; the policy allows 160 tokens",
    }
    assert (
        sum(entry["given"] for entry in body["slices"]) + body["free_tokens"]
        == body["window_tokens"]
        == 2_000
    )
    assert body["verdict"] == {
        "is": "compact",
        "trigger": "pressure",
        "why": "it is full",
        "target_tokens": 600,
    }


def changed(path: list[Any], value: object) -> dict[str, Any]:
    body: Any = json.loads(json.dumps(TokenBudget(allot(2_000, {}), Calm("")).to_json()))
    inner = body
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return dict(body)


@pytest.mark.parametrize(
    "broken",
    [
        {},
        changed(["slices"], []),
        changed(["slices", 0, "region"], "attic"),
        changed(["slices", 0, "region"], "memory"),
        changed(["slices", 0, "cut"], 1),
        changed(["free_tokens"], 1),
        changed(["window_tokens"], 3.5),
        changed(["verdict"], None),
        changed(["verdict", "is"], "panic"),
        changed(["verdict", "why"], None),
    ],
)
def test_numbers_that_do_not_add_up_are_refused(broken: dict[str, Any]):
    with pytest.raises(InputError, match="not a token budget"):
        TokenBudget.from_json(broken)
