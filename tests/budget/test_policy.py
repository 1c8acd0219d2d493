"""Limits, policies, and the usable window of a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.budget import DEFAULT, EARLY, Fill, Limit, Policy, Warn, Window, judge, window_for
from clew.errors import InputError
from clew.tokens import model_named

limits = st.one_of(
    st.builds(Limit, share=st.floats(0.01, 1.0)),
    st.builds(Limit, tokens=st.integers(0, 10**6)),
    st.builds(Limit, share=st.floats(0.01, 1.0), tokens=st.integers(0, 10**6)),
)


@pytest.mark.parametrize(
    ("limit", "tokens", "words"),
    [
        (Limit(share=0.85), 163_200, "85% of 192,000"),
        (Limit(tokens=150_000), 150_000, "150,000 tokens by the policy"),
        (Limit(share=0.85, tokens=150_000), 150_000, "150,000 tokens by the policy"),
        (Limit(share=0.5, tokens=150_000), 96_000, "50% of 192,000"),
    ],
)
def test_a_limit_is_a_share_a_count_or_whichever_is_reached_first(limit: Limit, tokens: int, words: str):
    assert (limit.of(192_000), limit.why(192_000)) == (tokens, words)


def test_an_absolute_count_is_never_more_than_the_whole():
    assert Limit(tokens=150_000).of(1_000) == 1_000


@given(limits, st.integers(0, 10**7), st.integers(0, 10**6))
def test_a_limit_stays_within_the_whole_and_grows_with_it(limit: Limit, whole: int, more: int):
    assert 0 <= limit.of(whole) <= whole
    assert limit.of(whole) <= limit.of(whole + more)


@pytest.mark.parametrize(
    ("share", "tokens", "said"),
    [
        (None, None, "needs a share"),
        (0.0, None, "not above 0"),
        (1.01, None, "at most 1"),
        (float("nan"), None, "at most 1"),
        (None, -1, "below 0"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(share: float | None, tokens: int | None, said: str):
    with pytest.raises(InputError, match=said):
        Limit(share, tokens)


@pytest.mark.parametrize("wrong", [{"keep_messages": -1}, {"keep_tokens": -1}])
def test_fewer_last_messages_than_none_are_refused(wrong: dict[str, int]):
    with pytest.raises(InputError, match="cannot be below 0"):
        Policy(**wrong)


@pytest.mark.parametrize("tokens", [None, 50_000])
def test_a_band_upside_down_is_refused(tokens: int | None):
    with pytest.raises(InputError, match="60% down to 70% frees nothing"):
        Policy(compact_at=Limit(share=0.6, tokens=tokens), down_to=Limit(share=0.7))


def test_a_count_may_set_the_band_right():
    policy = Policy(compact_at=Limit(share=0.6), down_to=Limit(share=0.7, tokens=10_000))
    assert policy.down_to.of(192_000) == 10_000


def test_the_presets_compact_at_85_and_at_75_percent():
    assert (DEFAULT.compact_at, DEFAULT.down_to, DEFAULT.keep_messages) == (
        Limit(share=0.85),
        Limit(share=0.30),
        None,
    )
    assert (EARLY.compact_at, EARLY.down_to) == (Limit(share=0.75), Limit(share=0.30))


@pytest.mark.parametrize(
    ("name", "window", "usable"),
    [
        ("claude-opus-4-5", Window(200_000, 8_000), 192_000),
        ("gpt-4", Window(8_192, 1_638), 6_554),
        # 400,000 in all, but the provider takes no more than 272,000 of input.
        ("gpt-5", Window(280_000, 8_000), 272_000),
        ("nobody-knows-it", Window(128_000, 8_000), 120_000),
    ],
)
def test_the_usable_window_is_what_the_reply_leaves(name: str, window: Window, usable: int):
    found = window_for(model_named(name))
    assert (found, found.usable_tokens) == (window, usable)


def test_no_more_is_kept_for_the_reply_than_the_model_can_say():
    policy = Policy(reply=Limit(tokens=50_000))
    assert window_for(model_named("gpt-4o"), policy) == Window(128_000, 16_384)


def test_the_default_goes_from_85_down_to_30_percent_and_60_can_be_set():
    fill = Fill(Window(108_000, 8_000), used_tokens=86_000)
    assert judge(fill).target_tokens == 30_000
    assert judge(fill, Policy(down_to=Limit(share=0.6))).target_tokens == 60_000
    assert isinstance(judge(Fill(Window(108_000, 8_000), used_tokens=84_000)), Warn)
