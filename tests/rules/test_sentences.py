"""Sentences keep their exact place, and know what stands over them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.rules.sentences import Sentence, sentences
from clew.rules.words import CODE, PATH, QUOTE, tokens


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("don't push. use tabs", ["don't push.", "use tabs"]),
        (
            "Use e.g. v1.2.3 of src/a.py, i.e. the old one.",
            ["Use e.g. v1.2.3 of src/a.py, i.e. the old one."],
        ),
        ("Run it z.B. mit uv. Danke.", ["Run it z.B. mit uv.", "Danke."]),
        ("stop; think; go", ["stop;", "think;", "go"]),
        ("不要推送。请用中文回答！好", ["不要推送。", "请用中文回答！", "好"]),
        ("no dots here\nbut two thoughts", ["no dots here", "but two thoughts"]),
        ("- one\n- two\n  1. three\n  b) four", ["one", "two", "three", "four"]),
        ('He said "stop. Never go. Run." and left', ['He said "stop.', "and left"]),
        ("...", []),
    ],
)
def test_a_text_is_cut_where_sentences_end(text: str, expected: list[str]):
    assert texts(text) == expected


def test_lines_wrapped_by_hand_are_one_sentence():
    text = "Please never modify any of the files that are kept under\nlegacy/ or anywhere below it."
    assert texts(text) == [text]


def test_a_sentence_knows_its_heading_and_the_line_that_introduces_its_list():
    text = "# Rules\n\nIn short:\n\n- no mocks\n- no sleeps\n\nThanks."
    assert list(sentences(text)) == [
        Sentence(9, 18, "In short:", "Rules"),
        Sentence(22, 30, "no mocks", "Rules", "In short:", item=True),
        Sentence(33, 42, "no sleeps", "Rules", "In short:", item=True),
        Sentence(44, 51, "Thanks.", "Rules"),
    ]


@pytest.mark.parametrize(
    "foreign",
    [
        "```\nx = 1\n```",
        "~~~ text\n```\nx\n~~~",
        "> quoted",
        "| a | b |",
        "diff --git a/x b/x\n@@ -1 +1 @@\n-old\n+new",
        "2026-01-02T10:00:00 starting",
        "for (i = 0; i < n; i++) {",
        "<note>\nanything\n</note>",
        "$ git push",
        "    return self.x == y",
    ],
)
def test_what_is_not_speech_is_left_out(foreign: str):
    assert texts(f"Before.\n{foreign}\n\nAfter.") == ["Before.", "After."]


def test_a_tag_that_is_never_closed_hides_nothing():
    assert texts("<Provider> is broken\ndon't touch it") == ["<Provider> is broken", "don't touch it"]


def test_a_tag_that_is_never_closed_hides_what_a_tool_put_behind_it_to_the_end():
    assert texts("Before.\n<log>\nnever push\n\nalways squash\n") == ["Before."]


def test_another_tag_alone_on_its_line_hides_what_follows_to_the_next_blank_line():
    assert texts("<div>\nnever push\n\nAfter.") == ["After."]


@pytest.mark.parametrize(
    "lead",
    [
        "The wiki says:",
        "Bob wrote to me yesterday:",
        "Comment from Anna:",
        "Here is the output of the build:",
    ],
)
def test_what_somebody_else_says_is_left_out_to_the_next_blank_line(lead: str):
    assert texts(f"{lead}\nNever push.\n- Always squash.\n\nAfter.") == [lead, "After."]


@pytest.mark.parametrize("lead", ["As I said:", "What I want:", "My rules:"])
def test_what_the_speaker_says_behind_a_colon_is_speech(lead: str):
    assert texts(f"{lead}\nNever push.") == [lead, "Never push."]


def test_a_message_written_down_as_a_json_string_is_no_quotation():
    text = r'"never push. ask \"me\" first"'
    assert list(sentences(text)) == [Sentence(1, 12, "never push."), Sentence(13, 29, r"ask \"me\" first")]


@given(st.text(alphabet="ab .!?:;\n-*#>`\"'0<>/|é。", max_size=120))
def test_every_sentence_is_the_text_at_its_place_in_order(text: str):
    found = list(sentences(text))
    assert all(one.text == text[one.start : one.end] for one in found)
    assert [one.start for one in found] == sorted({one.start for one in found})
    assert all(one.text.strip() == one.text != "" for one in found)


def test_words_are_lowered_and_what_is_opaque_is_one_word():
    text = 'Don’t RUN `rm -rf` in src/api, "never" --force'
    assert [(token.word, token.opens) for token in tokens(text)] == [
        ("don't", True),
        ("run", False),
        (CODE, False),
        ("in", False),
        (PATH, False),
        (QUOTE, True),
        (CODE, False),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Whatever happens, you must never\npush to main.",
        "I don't want you to\nkeep the old API.",
        "Bitte nie\nauf main pushen.",
    ],
)
def test_a_short_line_that_leads_on_is_one_sentence_with_the_next(text):
    assert [sentence.text for sentence in sentences(text)] == [text]


def test_long_runs_of_marks_are_cut_in_one_go():
    text = "never push " + "." * 60_000
    started = time.process_time()
    assert list(sentences(text))
    assert tokens(text)
    assert time.process_time() - started < 2.0
