"""A value is bound where words say what it is; a list of values and strewn words do not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew_evals.binding import Binding, _longest_common_subsequence
from clew_evals.words import plain_words
from tests.evals.sessions import FILLER, agent, cut, needs, user

LINE = "the retry limit of the upload stage is HTTP_4XX_CAP seconds after a failure"


def binding() -> Binding:
    return Binding(needs(cut([user(LINE), agent(FILLER)], [agent("HTTP_4XX_CAP")])).probes[0])


def test_the_line_itself_binds_and_tells():
    assert (binding().is_in_context(LINE), binding().is_explained(LINE)) == (True, True)


def test_a_bare_list_neither_binds_nor_tells():
    bare = "OTHER_VALUE_ONE HTTP_4XX_CAP src/app/main.py other_name_here"
    assert (binding().is_in_context(bare), binding().is_explained(bare)) == (False, False)


def test_strewn_words_bind_but_do_not_tell():
    strewn = "failure seconds HTTP_4XX_CAP stage upload limit retry"
    assert (binding().is_in_context(strewn), binding().is_explained(strewn)) == (True, False)


def test_a_shorter_sentence_in_the_same_order_tells():
    assert binding().is_explained("- retry limit, upload stage: HTTP_4XX_CAP after failure")


def test_a_view_without_the_value_does_neither():
    assert (binding().is_in_context("the retry limit"), binding().is_explained("the retry limit")) == (
        False,
        False,
    )


def test_a_line_without_words_asks_for_nothing():
    bare = Binding(needs(cut([user("HTTP_4XX_CAP"), agent(FILLER)], [agent("HTTP_4XX_CAP")])).probes[0])
    assert (bare.is_in_context("HTTP_4XX_CAP"), bare.is_explained("HTTP_4XX_CAP")) == (None, None)


def test_values_are_no_plain_words():
    assert plain_words("open src/app/main.py and parse_header_line quickly") == ["open", "quickly"]


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_a_common_subsequence_is_no_longer_than_either_and_grows_with_them(one: list[str], other: list[str]):
    length = _longest_common_subsequence(one, other)
    assert length <= min(len(one), len(other))
    assert _longest_common_subsequence(one, one) == len(one)
    assert _longest_common_subsequence([*one, "z"], [*other, "z"]) == length + 1
