"""The room kept for the next tool result is learnt from the session's own."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.budget import DEFAULT, ResultSizes
from clew.errors import InputError

USABLE = 192_000

sizes = st.lists(st.integers(0, 100_000), max_size=300)


def after(results: list[int]) -> ResultSizes:
    record = ResultSizes()
    for tokens in results:
        record = record.add(tokens)
    return record


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([], 19_200),
        ([100, 2_000], 19_200),
        ([100, 30_000], 30_000),
        ([100, 90_000], 48_000),
        ([500] * 99 + [30_000], 512),
        ([500] * 97 + [30_000] * 3, 30_000),
    ],
    ids=["nothing seen", "small ones", "a large one", "bounded", "one giant in a hundred", "three giants"],
)
def test_the_room_kept_for_the_next_result(results: list[int], expected: int):
    assert after(results).expected_tokens(DEFAULT, USABLE) == expected


@given(sizes, st.integers(0, 500_000))
def test_the_room_is_bounded_whatever_was_seen(results: list[int], usable: int):
    room = after(results).expected_tokens(DEFAULT, usable)
    assert 0 <= room <= math.ceil(usable / 4)


@given(sizes.filter(bool))
def test_the_99th_percentile_is_at_most_a_quarter_too_high_and_never_too_low(results: list[int]):
    exact = sorted(results)[-1 - len(results) // 100]
    assert exact <= after(results).p99_tokens <= math.ceil(exact * 1.25)


@given(st.integers(0, 10**9))
def test_a_record_stays_small(results: int):
    assert len(after(list(range(0, results, max(1, results // 500)))).counts) <= 4 * 31


@given(sizes)
def test_a_record_survives_json(results: list[int]):
    record = after(results)
    assert ResultSizes.from_json(json.loads(json.dumps(record.to_json()))) == record


@pytest.mark.parametrize(
    "broken",
    [{}, {"counts": 3, "largest": 1}, {"counts": [[1]], "largest": 1}, {"counts": [], "largest": -1}],
)
def test_a_broken_record_is_refused(broken: dict[str, object]):
    with pytest.raises(InputError, match="not a record of result sizes"):
        ResultSizes.from_json(broken)
