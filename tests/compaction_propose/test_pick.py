"""What brings in most per token is taken first, and what is told already brings in less."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.pick import IN_PASSING, NAMED, Covered, Gain, Line, chance, gains
from clew.message import Cite, Trust

shares = st.floats(0, 1)


def line(*brought: Gain) -> Line:
    claim = Claim("", ClaimKind.FACT, "a line", (Cite("m1"),), Trust.UNTRUSTED, verbatim=True)
    return Line(claim, (0, 0, 0), brought)


def test_what_a_line_is_about_gains_more_than_what_it_names_in_passing():
    own, other = gains({"a": 1.0, "b": 1.0}, 0.8, {"a"})
    assert own == ("a", 0.8, NAMED + (1 - NAMED) * 0.8, (1 - NAMED) * 0.8)
    assert other == gains({"b": 1.0}, 0.8 * IN_PASSING, {"b"})[0]


@given(worth=shares, tells=shares, told=shares)
def test_a_line_never_brings_in_more_of_what_is_named_and_told(worth: float, tells: float, told: float):
    one = line(*gains({"a": worth}, tells, {"a"}))
    named, more = Covered(), Covered()
    named.add(["a"])
    more.add(["a"], told)
    assert one.gain(Covered()) >= one.gain(named) >= one.gain(more)


@given(st.integers(0, 30), st.integers(0, 30))
def test_more_plain_words_tell_no_less(some: int, more: int):
    assert chance(some) <= chance(some + more) < 1
