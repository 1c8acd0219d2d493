"""Marked words stand out, nothing is lost on the way, and long texts are folded around them."""

from hypothesis import given
from hypothesis import strategies as st

from clew.cli.expand import TextSpan, marked_lines
from clew.cli.text import printable


def plain(text: str, *marks: tuple[int, int], full: bool = False) -> list[str]:
    return [row.plain for row in marked_lines(text, [TextSpan(*mark) for mark in marks], full=full)]


def test_the_line_that_holds_marked_words_has_a_sign_before_it():
    assert plain("one\ntwo\nthree", (5, 6)) == ["  one", "▌ two", "  three"]


def test_marked_words_across_lines_mark_each_of_them():
    assert plain("one\ntwo\nthree", (2, 9)) == ["▌ one", "▌ two", "▌ three"]


def test_what_is_far_from_a_mark_is_folded():
    text = "\n".join(f"line {n}" for n in range(100))
    start = text.index("line 50")
    shown = plain(text, (start, start + 7))
    assert shown[0] == "  … 48 more lines (--full shows them)"
    assert shown[1:6] == ["  line 48", "  line 49", "▌ line 50", "  line 51", "  line 52"]
    assert shown[6] == "  … 47 more lines (--full shows them)"


def test_of_a_very_long_line_the_marked_words_are_shown():
    (row,) = plain("x" * 5000 + "NEEDLE" + "y" * 5000, (5000, 5006))
    assert "NEEDLE" in row
    assert len(row) < 1000


@given(st.text(), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted).map(tuple)))
def test_in_full_every_character_is_there_whatever_is_marked(text: str, marks: list[tuple[int, int]]):
    expected = [printable(line.removesuffix("\r").expandtabs(4)) for line in text.split("\n")]
    if not any("\t" in line for line in text.split("\n")):  # where a tab ends depends on where a mark begins
        assert [row[2:] for row in plain(text, *marks, full=True)] == expected
