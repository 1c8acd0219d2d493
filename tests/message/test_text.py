"""Texts on one line, and texts cut to a length."""

from hypothesis import given
from hypothesis import strategies as st

from clew.message.text import ellipsize, one_line

_TEXTS = st.text(alphabet=st.sampled_from("ab \n\t…é"), max_size=60)
_LIMITS = st.integers(0, 20)


def test_whitespace_becomes_single_spaces() -> None:
    assert one_line("  two\n\n lines\tand   blanks ") == "two lines and blanks"


def test_a_cut_text_ends_in_an_ellipsis_within_the_limit() -> None:
    assert ellipsize("abcdef", 4) == "abc…"
    assert ellipsize("ab cdef", 4) == "ab…", "no blank before the ellipsis"
    assert ellipsize("abcd", 4) == "abcd"


def test_a_text_that_is_mostly_blanks_shows_that_it_was_cut() -> None:
    assert one_line("ab" + " " * 10_000 + "cd", 10) == "ab…"


@given(_TEXTS, _LIMITS)
def test_a_line_never_exceeds_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)

    assert len(line) <= limit
    assert line == " ".join(line.split())


@given(_TEXTS, _LIMITS)
def test_a_text_that_fits_is_only_flattened(text: str, limit: int) -> None:
    if len(text) <= limit:
        assert one_line(text, limit) == one_line(text) == " ".join(text.split())
        assert ellipsize(text, limit) == text
