"""From a match to the sentence it stands in."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.ledger import announcements, decision_phrases, goal, spoken_choices
from clew.ledger.phrases import Phrases, is_foreign, sentence_around, sentences_with
from clew.message import Trust
from clew.message.text import AnyCasePattern
from clew.rules.speech import ASSISTANT, USER, Utterance
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
    found = [
        text[start:end] for start, end in sentences_with(AnyCasePattern(r"\buse\b"), ["tabs", "it"], text)
    ]
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


PREFILTERS = [
    (decision_phrases._BY_USER, decision_phrases._PHRASES_OF_USER, decision_phrases._SIGNS_OF_USER),
    (
        decision_phrases._BY_ASSISTANT,
        decision_phrases._PHRASES_OF_ASSISTANT,
        decision_phrases._SIGNS_OF_ASSISTANT,
    ),
    (spoken_choices._CHOOSES, spoken_choices._WORDS, spoken_choices._SIGNS),
    (announcements._PROMISE, announcements._PROMISE_PHRASES, announcements._PROMISE_SIGNS),
]
PRINTABLE = st.characters(min_codepoint=32, max_codepoint=126)


@settings(max_examples=tries(100, 500))
@given(st.lists(st.sampled_from(SAID.split(" ")), max_size=14).map(" ".join))
def test_what_a_pattern_finds_its_phrases_may_hold(text):
    for pattern, phrases, _ in (*PREFILTERS, (goal._DONE, goal._DONE_WORDS, ())):
        assert not pattern.search(text) or phrases.may_match(text)


@pytest.mark.parametrize("prefilter", PREFILTERS)
@settings(max_examples=tries(150, 2_000))
@given(data=st.data())
def test_whatever_a_pattern_finds_passes_its_prefilters(prefilter, data):
    pattern, phrases, signs = prefilter
    compiled = re.compile(pattern.pattern, pattern._lower.flags)
    found = compiled.search(data.draw(st.from_regex(compiled, alphabet=PRINTABLE)))
    text = re.sub(" +", " ", found[0]) if found else ""  # signs have single spaces
    if pattern.search(text):
        assert phrases.may_match(text.upper())
        assert any(sign in text.lower() for sign in signs)


@pytest.mark.parametrize(
    ("speaker", "text"),
    [
        (USER, "Take the second one please."),
        (USER, "Do number 2 for the server."),
        (USER, "CORRECTION: the port is 8080."),
        (USER, "İstanbul: use tabs INSTEAD OF spaces here."),
        (USER, "Entschieden ist nichts.\nENTSCHEIDUNG: Wir nehmen Postgres."),
        (ASSISTANT, "**Chosen approach**: keep the old parser."),
        (ASSISTANT, "The BEST approach is TO keep the parser simple."),
    ],
)
def test_a_decision_is_found_in_any_case(speaker, text):
    ((start, end),) = decision_phrases.decisions_in(Utterance(speaker, text, Trust.USER, "m1", 0))
    assert text[start:end] in text.splitlines()[-1]
