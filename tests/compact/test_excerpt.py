"""An excerpt keeps how a text begins, how it ends, and what went wrong in between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.compact.excerpt import LONGEST_LINE, excerpt


def test_a_short_text_is_left_as_it_is():
    assert excerpt("a\nb", 100) == "a\nb"


def test_head_tail_and_errors_are_kept_and_the_rest_is_counted():
    lines = [f"line {n}" for n in range(1000)]
    lines[500] = "ERROR: disk full"
    shown = excerpt("\n".join(lines), 200).split("\n")
    assert shown[0] == "line 0"
    assert shown[-1] == "line 999"
    assert "ERROR: disk full" in shown
    assert sum(1 for line in shown if line.startswith("[… ")) == 2


def test_one_endless_line_is_cut_in_its_middle():
    shown = excerpt("x" * 1_000_000, 500)
    assert len(shown) < 1_000
    assert "[… 999,600 characters]" in shown


@given(st.text(max_size=3000), st.integers(1, 600))
def test_an_excerpt_is_never_much_longer_than_asked(text: str, most: int):
    shown = excerpt(text, most)
    gaps = shown.count("[… ") * 40
    assert len(shown) <= max(most, 3 * LONGEST_LINE) + gaps or shown == text
