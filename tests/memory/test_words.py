"""Texts as the index keeps them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.memory.dates import spans
from clew.memory.question import exact_values, understand
from clew.memory.terms import Trait, analyse, marks_to_find, stem, surface, terms
from tests.memory.said import MONDAY, turn


@pytest.mark.parametrize(
    "family",
    [
        ("paint", "painted", "painting", "paints"),
        ("go", "goes", "went", "gone"),
        ("child", "children"),
        ("study", "studies", "studied", "studying"),
        ("adopt", "adopted", "adoption"),
        ("hop", "hopping", "hopped"),
    ],
)
def test_relatives_share_a_stem(family):
    assert {stem(word) for word in family} == {stem(family[0])}


@given(st.text(max_size=60))
def test_every_text_has_terms_that_an_index_can_hold(text):
    assert all(term and " " not in term and '"' not in term for term in terms(text))


def test_scripts_without_blanks_are_parted_into_pairs():
    assert list(surface("see 東京タワー now")) == ["see", "東京", "京タ", "タワ", "ワー", "now"]


def test_an_entry_keeps_the_days_it_speaks_of_and_was_said_on():
    kept = analyse(turn("I went yesterday. And you?"))
    assert kept.days == ("d20230507", "d20230508", "m202305", "y2023")
    assert Trait(kept.traits) == Trait.ASKS | Trait.HOLDS_QUESTION | Trait.DATED


def test_marks_are_as_fine_as_the_date_that_is_asked_for():
    assert marks_to_find(spans("yesterday", MONDAY)) == ("d20230507",)
    assert marks_to_find(spans("in June 2022", MONDAY)) == ("m202206",)
    assert marks_to_find(spans("in 2021", MONDAY)) == ("y2021",)


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("where did src/clew/log/store/sql.py fail?", ("src/clew/log/store/sql.py",)),
        ("what about ~/notes/a.md and E1234", ("~/notes/a.md", "E1234")),
        ("who said 'no such table: entry' first?", ("no such table: entry",)),
        ("when did max_tokens raise KeyError?", ("max_tokens", "KeyError")),
        ("the commit 7364fc9 again", ("7364fc9",)),
        ("What did Ann do on 3.5.2023 at 10:30am, the 2nd time?", ()),
        ("What did Ann's sister say, and didn't Bob's?", ()),
    ],
)
def test_exact_values_are_told_from_ordinary_words(question, values):
    assert exact_values(question) == values


def test_a_question_is_understood_as_far_as_code_can():
    asked = understand("How many courses did I take last month?", MONDAY)
    assert asked.terms == ("mani", "cours", "take", "last", "month")
    assert (asked.of_me, asked.of_you, asked.wants_number, asked.wants_date) == (True, False, True, False)
    assert [span.words for span in asked.spans] == ["last month"]


@pytest.mark.parametrize(
    ("text", "of_me", "terms"),
    [
        ("What did the user want for the port?", True, ("port",)),
        ("did the user explicitly ask for a retry limit", True, ("retri", "limit")),
        ("the user's request about tabs", True, ("tab",)),
        ("Which fields does the user table have?", False, ("field", "user", "tabl")),
        ("how is the user logged in?", False, ("user", "log")),
    ],
)
def test_what_the_user_said_is_looked_for_among_their_messages(text, of_me, terms):
    asked = understand(text, MONDAY)
    assert asked.of_me is of_me
    assert tuple(term for term in asked.terms if term not in ("about", "which")) == terms


@pytest.mark.parametrize(
    ("text", "of_you"),
    [
        ("Can you remind me what you said about the kiln?", True),
        ("What was the site in our previous chat?", True),
        ("Could you suggest a hotel for my trip?", False),
        ("Can you list the order in which I brought up the topics of our talks?", False),
        ("What have I told you about the port?", False),
        ("What did I tell you about the port?", False),
    ],
)
def test_who_is_asked_is_not_whose_messages_are_meant(text, of_you):
    assert understand(text, MONDAY).of_you is of_you
