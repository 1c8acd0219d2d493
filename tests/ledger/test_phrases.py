"""From a match to the sentence it stands in."""

from __future__ import annotations

import re

import pytest

from clew.ledger.phrases import is_foreign, sentence_around, sentences_with


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
    found = [text[start:end] for start, end in sentences_with(re.compile(r"(?i)\buse\b"), ["We", "it"], text)]
    assert found == ["We use tabs and use them.", "use it"]


def test_an_endless_sentence_is_passed_over():
    assert list(sentences_with(re.compile("use"), ["use"], "use " + "x " * 400)) == []
