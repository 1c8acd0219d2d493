"""Stemming: ``painted``, ``painting`` and ``paints`` all become ``paint``.

English only: the suffix rules of M. F. Porter's algorithm of 1980. Words of other languages stay as they are
or lose an ending, in texts and questions alike.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_PLAIN = re.compile(r"[a-z]{3,30}")

REMEMBERED = 65_536
# A plain dictionary of strings: unlike functools' cache it adds nothing for the garbage collector to scan,
# and a pause of the collector is longer than a search.
_known: dict[str, str] = {}

_SECOND = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
    "biliti": "ble", "logi": "log",
}  # fmt: skip
_THIRD = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_FOURTH = (
    "ement", "ance", "ence", "able", "ible", "ment", "sion", "tion", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "al", "er", "ic", "ou",
)  # fmt: skip


def stem(word: str) -> str:
    """Return the stem of a lower-case word."""
    known = _known.get(word)
    if known is None:
        if len(_known) >= REMEMBERED:
            _known.clear()
        known = _known[word] = _stemmed(word)
    return known


def _stemmed(word: str) -> str:
    word = irregular().get(word, word)
    if not _PLAIN.fullmatch(word):
        return word
    word = _without_plural(word)
    word = _without_tense(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _SECOND)
    word = _replaced(word, _THIRD)
    word = _without_fourth(word)
    return _tidied(word)


@cache
def irregular() -> dict[str, str]:
    """Return irregular forms with their base: ``went`` is ``go``, ``children`` is ``child``."""
    text = files("clew.memory").joinpath("irregular.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {form: base for base, *forms in lines for form in forms}


def _without_plural(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        root = word.removesuffix(ending)
        if root != word and _has_vowel(root):
            return _mended(root)
    return word


def _mended(root: str) -> str:
    """Return a verb's root with its final letter restored: ``hop`` for ``hopp``, ``make`` for ``mak``."""
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if len(root) > 1 and root[-1] == root[-2] and root[-1] not in "lsz":
        return root[:-1]
    if _measure(root) == 1 and _short(root):
        return root + "e"
    return root


def _replaced(word: str, endings: dict[str, str]) -> str:
    for ending, other in endings.items():
        if word.endswith(ending):
            root = word.removesuffix(ending)
            return root + other if _measure(root) else word
    return word


def _without_fourth(word: str) -> str:
    for ending in _FOURTH:
        if word.endswith(ending):
            root = word.removesuffix(ending)
            if ending in {"sion", "tion"}:
                root += ending[0]
            return root if _measure(root) > 1 else word
    return word


def _tidied(word: str) -> str:
    if word.endswith("e"):
        root = word[:-1]
        if _measure(root) > 1 or (_measure(root) == 1 and not _short(root)):
            word = root
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _kinds(word: str) -> str:
    """Return the word as vowels and consonants; ``y`` is a vowel after a consonant."""
    kinds = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and kinds.endswith("c"))
        kinds += "v" if vowel else "c"
    return kinds


def _measure(word: str) -> int:
    """Return how often a vowel is followed by a consonant: roughly, the syllables."""
    return _kinds(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _kinds(word)


def _short(word: str) -> bool:
    """Return True if it ends in consonant, vowel, consonant, as ``hop`` does."""
    return _kinds(word).endswith("cvc") and word[-1] not in "wxy"
