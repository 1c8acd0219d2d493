"""The tables hang together, and the common forms of twelve languages are found."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from clew.message import Role, text_message
from clew.rules import find_candidates
from clew.rules.languages import guess, language
from clew.rules.words import model, plain_words, table, tokens

INVENTED = [
    json.loads(line) for line in Path(__file__).with_name("invented.jsonl").read_text("utf-8").splitlines()
]
NAMES = {
    **{"de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "ja": "japanese"},
    **{"ko": "korean", "nl": "dutch", "pl": "polish", "pt": "portuguese", "ru": "russian", "zh": "chinese"},
}
SHAPES = {
    *(
        "question",
        "error_text",
        "fragment",
        "deep",
        "colon",
        "tiny",
        "long",
        "you",
        "shouted",
        "measure",
        "limit_number",
        "only_task",
        "gate_task",
        "if_order",
        "asked",
    ),
    *(
        "duty",
        "duty_weak",
        "contrast",
        "bare_no",
        "platform",
        "each_turn",
        "held_back",
        "leave_now",
        "borrowed",
    ),
    *("ordered", "document", "briefing", "rule_heading", "rule_lead", "ban_lead"),
}
"""Cues that are not phrases."""


@pytest.mark.parametrize("name", NAMES.values())
def test_every_cue_of_a_language_has_a_weight(name: str):
    unknown = set(table(name)["cues"]) - set(model().cues) - {"nothing"}
    assert unknown == set()


def test_every_weight_belongs_to_a_cue_of_some_language_or_to_a_shape():
    cues = {cue for name in NAMES.values() for cue in table(name)["cues"]}
    assert set(model().cues) == (cues - {"nothing"}) | SHAPES


@pytest.mark.parametrize("name", NAMES.values())
def test_phrases_are_written_as_they_are_compared(name: str):
    for cue, entries in table(name)["cues"].items():
        for entry in entries:
            for place in ("first", "start", "free", "anywhere", "end"):
                for phrase in entry.get(place, ()):
                    assert phrase == phrase.lower().strip(), (cue, phrase)


@pytest.mark.parametrize("code", NAMES)
def test_the_language_of_a_sentence_is_guessed(code: str):
    texts = [row["text"] for row in INVENTED if row["language"] == code]
    guesses = {text: guess(text, plain_words(text)) for text in texts}
    assert [text for text in texts if guesses[text] != NAMES[code]] == []


def test_a_foreign_word_does_not_change_the_language():
    text = "please keep the non negotiable parts of the die as they are"
    assert guess(text, plain_words(text)) == "english"


@pytest.mark.parametrize("code", NAMES)
def test_most_rules_of_a_language_are_found_and_nothing_else(code: str):
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for row in INVENTED:
        if row["language"] == code:
            found[row["label"]].append(bool(find_candidates(text_message(Role.USER, row["text"]))))
    assert sum(found["standing"]) >= 0.8 * len(found["standing"])
    assert sum(found["none"]) <= 0.05 * len(found["none"])


def test_the_invented_sentences_are_many_and_hold_hard_negatives():
    labels = [row["label"] for row in INVENTED]
    assert (len(INVENTED) >= 250, labels.count("standing") > 100, labels.count("none") > 100) == (
        True,
        True,
        True,
    )


def test_a_negated_imperative_is_a_ban_where_the_negation_comes_late():
    german = language("german")
    text = "Fass die Migrationen nicht an."
    assert "ban" in {hit.cue for hit in german.hits(text, tokens(text))}


@pytest.mark.parametrize(
    "text",
    [
        "请修复计费模块中的所有错误",
        "すべてのテストを実行してください。",
        "모든 오류를 수정해 주세요.",
        "Пожалуйста, исправь все ошибки.",
        "Por favor, arregla todos los errores.",
        "Merci de traduire tous les titres en anglais.",
        "Bitte behebe alle Fehler.",
        "Por favor, corrija todos os erros.",
        "Per favore, traduci tutti i titoli in inglese.",
        "Translate every title in French.",
    ],
)
def test_a_task_that_is_meant_for_all_of_them_is_no_rule(text: str):
    assert find_candidates(text_message(Role.USER, text)) == []


def test_a_translation_that_is_asked_for_from_now_on_is_a_rule():
    assert len(find_candidates(text_message(Role.USER, "从现在开始都翻译成英文"))) == 1
