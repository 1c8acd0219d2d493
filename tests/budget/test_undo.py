"""The price of an undo, in cache writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.budget import Cache, undo_price
from clew.tokens import model_named

OPUS = model_named("claude-opus-4-5")
WARM, COLD = Cache(OPUS, age_seconds=10), Cache(OPUS, age_seconds=301)


@pytest.mark.parametrize(
    ("cache", "unseen", "once"),
    [
        (WARM, 301, 20_000 * 0.1 + 130_000 * 1.25 - 30_000 * 0.1),
        (WARM, 60, 150_000 * 0.1 - 30_000 * 0.1),
        (COLD, 400, 150_000 * 1.25 - 30_000 * 1.25),
    ],
    ids=["the old view is gone from the cache", "it is still there", "everything is cold"],
)
def test_the_price_of_an_undo(cache: Cache, unseen: float, once: float):
    price = undo_price(30_000, 150_000, 20_000, cache, unseen)
    assert (price.once.tokens, price.each.tokens) == pytest.approx((once, 12_000))


def test_going_back_to_a_view_that_is_priced_as_long_costs_that_much_more():
    cache = Cache(model_named("claude-haiku-5-5"), age_seconds=10)  # five times the price from 100,000 on
    price = undo_price(30_000, 150_000, 0, cache)
    assert (price.once.tokens, price.each.tokens) == pytest.approx(
        (150_000 * 1.25 * 5 - 3_000, 150_000 * 0.1 * 5 - 3_000)
    )


def test_the_price_is_told_in_dollars():
    assert str(undo_price(30_000, 150_000, 20_000, WARM)) == (
        "undoing costs $0.81 on the next request and $0.06 on each one after it"
    )


@given(
    st.sampled_from(["claude-opus-4-5", "gpt-5", "claude-haiku-5-5", "nobody"]).map(model_named),
    st.floats(0, 1_000),
    st.integers(0, 100_000),
    st.integers(0, 100_000),
    st.integers(0, 100_000),
)
def test_bringing_back_more_never_costs_less(model, age: float, tokens: int, back: int, more: int):
    cache = Cache(model, age)
    little = undo_price(tokens, tokens + back, tokens // 2, cache)
    much = undo_price(tokens, tokens + back + more, tokens // 2, cache)
    assert 0 <= little.each.tokens <= much.each.tokens
    assert -1e-6 <= little.once.tokens <= much.once.tokens
