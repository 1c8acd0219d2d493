"""What is a quote, what is cut out of its sentence, and what is put together of scraps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.propose.excerpt import excerpt
from clew.compaction.verify.reversals import is_cut_out, is_reversed
from clew.compaction.verify.wording import Wording, is_quote, two_scripts

RULES = Wording(
    "Please fix the build. Don't push to main, and never delete legacy/.\n"
    "You must not do any of this:\n"
    "- rename public functions\n"
    "- add dependencies\n"
    "\n"
    "Things to do:\n"
    "1. write “tests” first\n"
    "2. If they pass, merge it."
)
LONG = Wording("\n".join(f"line {i} says {'word ' * (90 if i == 30 else 3)}end" for i in range(60)))


@pytest.mark.parametrize(
    "text",
    [
        "Please fix the build.",
        "please  fix\nthe build",
        'write "tests" first',
        "Don’t push to main",
        "- add dependencies\n\nThings to do:",
    ],
)
def test_case_space_and_typographic_signs_do_not_matter(text: str):
    assert is_quote(text, RULES)


@pytest.mark.parametrize("text", ["", "fix the buil", "ease fix the build", "fix build", "push to main and"])
def test_words_are_whole_and_none_is_left_out(text: str):
    assert not is_quote(text, RULES)


@pytest.mark.parametrize(
    "text", ["push to main", "delete legacy/", "rename public functions", "- add dependencies", "merge it."]
)
def test_half_a_sentence_may_say_the_opposite(text: str):
    assert is_quote(text, RULES)
    assert is_cut_out(text, RULES)


def test_length_does_not_make_up_for_a_negation_left_out():
    rest = "delete what is under legacy/ and " + "then tell every customer about it and " * 4
    assert len(rest) > 120
    assert is_cut_out(rest, Wording(f"Under no circumstances {rest}"))
    assert not is_cut_out(rest, Wording(f"Now {rest}"))


@pytest.mark.parametrize(
    "text",
    [
        "Please fix the build.",
        "Don't push to main, and never delete legacy/.",
        "You must not do any of this:\n- rename public functions",
        "write tests first",
        "2. If they pass, merge it.",
    ],
)
def test_whole_sentences_and_lines_speak_for_themselves(text: str):
    assert not is_cut_out(text, Wording(RULES.text.replace("“", "").replace("”", "")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("push to main", True), ("delete legacy/", True), ("fix the build", False), ("not here", False)],
)
def test_a_negation_before_a_quote_reverses_it(text: str, expected: bool):
    assert is_reversed(text, [RULES]) is expected


def test_an_excerpt_is_a_quote():
    short = excerpt(LONG.text, 600)
    assert "lines]" in short
    assert is_quote(short, LONG)


def test_an_excerpt_that_cuts_within_a_line_is_a_quote():
    wide = Wording("x" * 3_000)
    assert "characters]" in excerpt(wide.text, 500)
    assert is_quote(excerpt(wide.text, 500), wide)


@pytest.mark.parametrize(
    "text",
    [
        "line 1\n[… 2 lines]\nline 4",
        "line 4 says word word word end\n[… 2 lines]\nline 1 says word word word end",
        "line 1 says word word word end\nline 3 says word word word end\n[… 2 lines]",
        "line 1 [… 3 characters] end",
        "[… 2 lines]\nnobody said this",
        "[… 2 lines]",
        "[… 2 lines]\n\n[… 12 lines, kept as m7]\n",
    ],
    ids=["scraps", "other order", "unmarked gap", "short ends", "invented", "nothing", "nothing twice"],
)
def test_scraps_are_no_excerpt(text: str):
    assert not is_quote(text, LONG)


def test_the_two_ends_of_a_line_do_not_overlap():
    words = " ".join(f"word{n}" for n in range(30))
    assert not is_quote(f"{words}[… 9 characters]{words}", Wording(words))
    assert is_quote(f"{words}[… 9 characters]{words}", Wording(f"{words} and then {words}"))


@given(st.text(max_size=400), st.integers(1, 200))
def test_every_excerpt_of_words_is_a_quote_of_them(text: str, size: int):
    text = f"begin {text} end"
    assert is_quote(excerpt(text, size), Wording(text))


@given(st.lists(st.sampled_from(["never", "push", "to", "main", "«legacy»", "7"]), min_size=3), st.data())
def test_every_run_of_words_is_a_quote(words: list[str], data: st.DataObject):
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    assert is_quote("\n".join(words[start:end]).upper(), Wording(" ".join(words)))


@pytest.mark.parametrize(
    "text", ["ℹ️ see the log", "Clew™", "№ 7", "20℃", "Δt", "4.7kΩ", "4.7k\u2126", "2πr", "5μs"]
)
def test_signs_and_symbols_of_maths_and_units_are_no_disguise(text: str):
    assert two_scripts(text) == ""


@pytest.mark.parametrize("word", ["pаyment", "cοde", "ΑPI", "ℒegacy", "\u212aey", "ℹnvoice", "admℹn", "𝐦ain"])
def test_letters_that_read_like_others_are_found(word: str):
    assert two_scripts(f"delete the {word} file") == word
