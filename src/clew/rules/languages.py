"""Load the phrase table of a language (``data/LANGUAGE.toml``), and guess the language of a sentence.

``guess("bitte nicht pushen", ["bitte", "nicht", "pushen"])`` is "german", and ``language("german")`` has its
phrases. The format of a table is explained in ``data/english.toml``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from clew.message.text import lazy_pattern
from clew.rules.cues import Entry, Grammar, Language, Phrase, Place, UnspacedLanguage, tree
from clew.rules.words import table

ENGLISH = "english"

_SCRIPTS = (
    (lazy_pattern(r"[\u3040-\u30ff]"), "japanese"),
    (lazy_pattern(r"[\uac00-\ud7af\u1100-\u11ff]"), "korean"),
    (lazy_pattern(r"[\u4e00-\u9fff]"), "chinese"),
    (lazy_pattern(r"[\u0400-\u04ff]"), "russian"),
)
_SPELLINGS = (
    (lazy_pattern(r"ñ|[¿¡]|ci(?:ó|o)n(?:es)?\b"), "spanish"),
    (lazy_pattern(r"[ãõ]|nça|[ln]h[ao]s?\b"), "portuguese"),
    (lazy_pattern(r"zion[ei]\b|ità\b|\b[dl]ell"), "italian"),
    (lazy_pattern(r"[çœêûîâ]|\bé\w|\b(?:qu|l|d|n|j|c|s|m)['’](?=[aeiouyhéèêà])", re.IGNORECASE), "french"),
    (lazy_pattern(r"ß|[äöü]|sch"), "german"),
    (lazy_pattern(r"[łżźćśąęń]"), "polish"),
)
"""Spellings that distinguish languages that share many words."""
_OTHER_SCRIPT = lazy_pattern("|".join(script.pattern for script, _ in _SCRIPTS))
_FEW_WORDS = 6
_GAP = "*"
_LONG_GAP = "..."
_UNLESS = ("unless_next", "unless_after")


def guess(text: str, words: Sequence[str], default: str = ENGLISH) -> str:
    """Return the language of a sentence: by script, else by frequent words, else the default."""
    if not text.isascii():
        for script, name in _SCRIPTS:
            if script.search(text):
                return name
    if default == ENGLISH and _foreign_words().isdisjoint(words):
        return default
    index = _common_words()
    if "non-" in text:  # "non-negotiable" is English
        words = [word for word in words if word != "non"]
    counts = Counter(name for word in words for name in index.get(word, ()))
    counts.update(name for spelling, name in _SPELLINGS if name in counts and spelling.search(text))
    ours = counts.pop(default, 0)
    best, most = max(counts.items(), key=lambda entry: entry[1], default=(default, 0))
    # One foreign word in a long sentence is a name or a slip. A few words do not switch away from the
    # language of the text: "no" does not make "No funciona" English.
    few = len(words) <= _FEW_WORDS and default == ENGLISH
    enough = max(1, ours) if few else max(2, ours + 1)
    return best if most >= enough else default


def is_english(text: str, words: Iterable[str]) -> bool:
    """Return True if no part of a text can be in another language; ``words`` as in ``guess``."""
    return _foreign_words().isdisjoint(words) and (text.isascii() or not _OTHER_SCRIPT.search(text))


def is_function_word(word: str) -> bool:
    """Return True if a word is a function word in one of the languages."""
    return word in _function_words()


@cache
def language(name: str) -> Language | UnspacedLanguage:
    """Return a language's cues; its table is loaded once."""
    content = table(name)
    grammar: dict[str, Any] = content["grammar"]
    if grammar.get("unspaced", False):
        index: dict[str, list[Phrase]] = {}
        for phrase in _unspaced_phrases(content["cues"]):
            index.setdefault(str(phrase.words[0]), []).append(phrase)
        longest_first = sorted(index, key=len, reverse=True)
        return UnspacedLanguage(
            re.compile("|".join(map(re.escape, longest_first))),
            {text: tuple(phrases) for text, phrases in index.items()},
            tuple(grammar["headings"].split()),
            {ord(pair[0]): ord(pair[1]) for pair in grammar.get("variants", "").split()},
        )
    classes = {f"{{{key}}}": frozenset(words.split()) for key, words in content.get("classes", {}).items()}
    phrases = tuple(_spaced_phrases(content["cues"], classes, content.get("slips", {})))
    return Language(
        tree(phrase for phrase in phrases if phrase.place is not Place.FIRST),
        tree(phrase for phrase in phrases if phrase.place is Place.FIRST),
        Grammar(**{key: frozenset(words.split()) for key, words in grammar.items()}),
        phrases,
    )


Cues = dict[str, list[dict[str, Any]]]


def _unspaced_phrases(cues: Cues) -> Iterator[Phrase]:
    """Yield the phrases of a language written without spaces, one piece each."""
    for cue, place, texts, conditions in _entries(cues):
        for text in texts:
            yield Phrase(cue, (text,), (), frozenset(), place, False, *conditions)


def _spaced_phrases(
    cues: Cues, classes: dict[str, frozenset[str]], slips: dict[str, str]
) -> Iterator[Phrase]:
    """Yield the phrases of a table as words; ``{name}`` is any word of that class.

    Common misspellings are added as variants: "lets keep".
    """

    def parsed(written: list[str]) -> tuple[Entry, ...]:
        return tuple(classes[word] if word[0] == "{" else word for word in written)

    for cue, place, texts, conditions in _entries(cues):
        for text in texts:
            written = text.split()
            variants = [written]
            if not slips.keys().isdisjoint(written):
                variants.append([slips.get(word, word) for word in written])
            gap = next((written.index(sign) for sign in (_LONG_GAP, _GAP) if sign in written), len(written))
            far = _LONG_GAP in written
            for words in variants:
                tail = words[gap + 1 :]
                literal = frozenset(word for word in tail if word[0] not in "{-")
                yield Phrase(cue, parsed(words[:gap]), parsed(tail), literal, place, far, *conditions)


Conditions = tuple[frozenset[str], frozenset[str], bool]


def _entries(cues: Cues) -> Iterator[tuple[str, Place, list[str], Conditions]]:
    """Yield the texts of each cue and place, with the conditions of their phrases."""
    for cue, entries in cues.items():
        for entry in entries:
            after, before = (frozenset(entry.get(key, "").split()) for key in _UNLESS)
            for place in Place:
                if place.value in entry:
                    yield cue, place, entry[place.value], (after, before, entry.get("goes_on", False))


@cache
def _common_words() -> dict[str, tuple[str, ...]]:
    """Return each frequent word with the languages it is frequent in."""
    index: dict[str, list[str]] = {}
    for languages in table("common_words").values():
        for name, words in languages.items():
            for word in words.split():
                index.setdefault(word, []).append(name)
    return {word: tuple(names) for word, names in index.items()}


@cache
def _foreign_words() -> frozenset[str]:
    return frozenset(word for word, names in _common_words().items() if ENGLISH not in names)


@cache
def _function_words() -> frozenset[str]:
    languages = table("common_words")["function"].values()
    return frozenset(word for words in languages for word in words.split())
