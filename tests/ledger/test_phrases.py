"""From a match to the sentence it stands in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.ledger import announcements, decision_phrases, goal, spoken_choices
from clew.ledger.phrases import Phrases, is_foreign, sentence_around, sentences_with
from clew.message.text import AnyCasePattern
from tests.conftest import tries


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Take the word here. Two.", "Take the word here."),
        ("e.g. the word, i.e. that one. Two.", "e.g. the word, i.e. that one."),
        ("- the word\n- two", "the word"),
        ("1. [ ] **the word** it is", "the word** it is"),
        ("`code` and the word.", "`code` and the word."),
        ('He said "no." Then the word came.', "Then the word came."),
        ("the word v1.2.3 and a.py stay whole. Two.", "the word v1.2.3 and a.py stay whole."),
        ("Is it the word? (maybe)", "Is it the word?"),
        ("  the word  ", "the word"),
    ],
)
def test_a_sentence_ends_where_it_ends(text, sentence):
    at = text.index("the word")
    start, end = sentence_around(text, at, at + 8)
    assert text[start:end] == sentence


@pytest.mark.parametrize(
    "text",
    [
        "```\nword\n```",
        "> word",
        "| word |",
        "// word",
        "        word",
        "\tword",
        "run `the word` now",
        "<b>word",
    ],
)
def test_code_and_quotations_are_foreign(text):
    assert is_foreign(text, text.index("word"))


def test_a_sentence_is_found_once_and_only_in_lines_with_a_sign():
    text = "We use tabs and use them. No.\nwe USE spaces\nuse it"
    found = [text[start:end] for start, end in sentences_with(AnyCasePattern(r"\buse\b"), ["We", "it"], text)]
    assert found == ["We use tabs and use them.", "use it"]


def test_an_endless_sentence_is_passed_over():
    assert list(sentences_with(AnyCasePattern("use"), ["use"], "use " + "x " * 400)) == []


def test_a_phrase_may_stand_where_each_of_its_words_does():
    phrases = Phrases(("go going", "with"), ("instead",))
    assert phrases.may_match("Let us GO, please, with option2.")
    assert phrases.may_match("use tabs—instead—of spaces")
    assert not phrases.may_match("do with it what you like, undergo nothing")


SAID = (
    "I we I'll we’ll I’m let's lets will going to go with use keep decided chose because instead of rather"
    " than so that it is the best approach fix option2 option # 2 prefer like doing over first one then next"
    " once after afterwards step steps : remaining still open follow-ups done all tests passed. Fixed ready"
    " , Decision is to put it somewhere else entirely agreed settled chosen on not only for now no but"
    " should don't want scope can drop my card fine call \n"
)


@settings(max_examples=tries(100, 500))
@given(st.lists(st.sampled_from(SAID.split(" ")), max_size=14).map(" ".join))
def test_what_a_pattern_finds_its_phrases_may_hold(text):
    for pattern, phrases in (
        (decision_phrases._BY_USER, decision_phrases._PHRASES_OF_USER),
        (decision_phrases._BY_ASSISTANT, decision_phrases._PHRASES_OF_ASSISTANT),
        (spoken_choices._CHOOSES, spoken_choices._WORDS),
        (announcements._PROMISE, announcements._PROMISE_PHRASES),
        (goal._DONE, goal._DONE_WORDS),
    ):
        assert not pattern.search(text) or phrases.may_match(text)
