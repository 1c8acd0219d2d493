"""Analyse a text for the index: stemmed words, traits, and the days it mentions.

Stemming is English only, by the suffix rules of M. F. Porter's algorithm of 1980: ``painted``, ``painting``
and ``paints`` all become ``paint``. Words of other languages stay as they are or lose an ending, in texts
and questions alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from enum import IntFlag
from functools import cache
from importlib.resources import files

from clew.memory.dates import DateSpan, spans
from clew.memory.index import Analysed, Entry

_PLAIN = re.compile(r"[a-z]{3,30}")
"""Words that are stemmed."""
REMEMBERED = 65_536
"""Stems that are remembered."""
# A plain dictionary of strings: unlike functools' cache it adds nothing for the garbage collector to scan,
# and a pause of the collector is longer than a search.
_known: dict[str, str] = {}

# The endings of the second, third and fourth step of Porter's algorithm, with what replaces them.
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
        known = _known[word] = _stem_word(word)
    return known


def _stem_word(word: str) -> str:
    word = irregular().get(word, word)
    if not _PLAIN.fullmatch(word):
        return word
    word = _without_plural(word)
    word = _without_tense(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_ending(word, _SECOND)
    word = _replace_ending(word, _THIRD)
    word = _without_fourth(word)
    return _without_final_e(word)


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
            return _restore_root(root)
    return word


def _restore_root(root: str) -> str:
    """Return a verb's root with its final letter restored: ``hop`` for ``hopp``, ``make`` for ``mak``."""
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if len(root) > 1 and root[-1] == root[-2] and root[-1] not in "lsz":
        return root[:-1]
    if _measure(root) == 1 and _short(root):
        return root + "e"
    return root


def _replace_ending(word: str, endings: dict[str, str]) -> str:
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


def _without_final_e(word: str) -> str:
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


_WORD = re.compile(r"[^\W_]+")
# Scripts without spaces between words: every two adjacent characters are a term.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")
# The end of a contraction: the 's of "it's", the 't of "don't".
_CONTRACTED = re.compile(r"(?<=[a-z])['’](?:s|t|d|m|re|ve|ll)\b")
# Compound names: snake_case, kebab-case, camelCase and PascalCase, also mixed.
# A match begins where a run of letters begins and does not backtrack, so that long runs take linear time.
_COMPOUND = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]++(?:[_-][A-Za-z0-9]++)++"
    r"|[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*)"
)
# The parts of such a name: HTTP, Server and 2 of HTTPServer2.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
MOST_JOINED = 4
"""Words of a question that are tried as one name."""
LONGEST_NAME = 80
"""Characters of a name that is also indexed by its parts; longer ones are encoded data."""
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|couple|few|several|twice|once)\b", re.I
)
# A capitalised word inside a sentence: Bergen in "we met in Bergen".
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_CLOSING = "\"')]*"
"""Marks that may follow the end of a sentence."""


NAMES_SHIFT = 8
"""The number of name terms is stored above the traits' own bits."""
MOST_NAMES = 63
"""The largest number of name terms that is stored."""


class Trait(IntFlag):
    """Properties of a text that the ranking uses, stored in the index."""

    ASKS = 1
    """It ends with a question."""
    HOLDS_QUESTION = 2
    DATED = 4
    """It names a date."""
    COUNTS = 8
    """It contains a number."""
    NAMES = 16
    """It contains a capitalised name."""


@cache
def stop_words() -> frozenset[str]:
    """Return the stop words, as they are and stemmed."""
    text = files("clew.memory").joinpath("stop_words.txt").read_text(encoding="utf-8")
    words = text.split()
    return frozenset(words) | {stem(word) for word in words}


def surface(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case, unstemmed."""
    for match in _WORD.finditer(_CONTRACTED.sub("", text.lower())):
        word = match[0]
        if unspaced := _UNSPACED.search(word):
            yield from _pairs(word, unspaced)
        else:
            yield word


def _pairs(word: str, unspaced: re.Match[str]) -> Iterator[str]:
    before, run, after = word[: unspaced.start()], unspaced[0], word[unspaced.end() :]
    if before:
        yield before
    yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
    yield from surface(after)


def terms(text: str) -> list[str]:
    """Return every word of a text, stemmed, in order."""
    return [stem(word) for word in surface(text)]


def name_terms(text: str) -> list[str]:
    """Return the terms of compound names: the stems of the parts, and all of it as one word.

    ``alphaSession`` and ``alpha_session`` are both found by ``alpha session`` and by ``alphasession``. The
    one word is not stemmed, so that typo correction can work on it.
    """
    result: dict[str, None] = {}
    for name in dict.fromkeys(_COMPOUND.findall(text)):
        parts = [part.lower() for part in _PART.findall(name)] if len(name) <= LONGEST_NAME else []
        if len(parts) > 1:
            result |= dict.fromkeys(map(stem, parts))
            result["".join(parts)] = None
    return list(result)


def joined_terms(words: Sequence[str]) -> list[str]:
    """Return adjacent words joined: ``alpha session`` may mean ``alphaSession``."""
    return list(
        dict.fromkeys(
            "".join(words[at : at + count])
            for count in range(2, MOST_JOINED + 1)
            for at in range(len(words) - count + 1)
        )
    )


def analyse(entry: Entry, decoded: str = "", context: str = "") -> Analysed:
    """Return the entry with the data that an index stores.

    ``decoded`` is its text with JSON escapes decoded, if different. The words of ``context``, such as the
    call that a result answers, find the entry although its text does not contain them.
    """
    day = date.fromisoformat(entry.time[:10])
    text = decoded or entry.text
    own_terms = terms(text)
    dates = spans(text, day)
    stop = stop_words()
    names = name_terms(text)
    around = [*name_terms(context), *terms(context)] if context else []
    known = set(own_terms)
    others = [term for term in dict.fromkeys(names + around) if term not in known]
    return Analysed(
        entry,
        " ".join(own_terms + others),  # the others last, so that phrases in the text stay contiguous
        sum(term not in stop for term in own_terms),
        int(_traits(text, bool(dates))) | min(len(names), MOST_NAMES) << NAMES_SHIFT,
        tuple(sorted({mark for span in (DateSpan(day, day), *dates) for mark in _marks(span)})),
    )


def _traits(text: str, dated: bool) -> Trait:
    checks = {
        Trait.ASKS: _last_sentence_end(text).endswith(("?", "？")),
        Trait.HOLDS_QUESTION: "?" in text or "？" in text,
        Trait.DATED: dated,
        Trait.COUNTS: bool(_NUMBER.search(text)),
        Trait.NAMES: bool(_NAME.search(text)),
    }
    traits = Trait(0)
    for trait, has_it in checks.items():
        if has_it:
            traits |= trait
    return traits


def _last_sentence_end(text: str) -> str:
    """Return a text without what may follow its last sentence: brackets, quotes, the caption of an image.

    Not a regular expression, which takes cubic time on long runs of spaces.
    """
    text = text.rstrip()
    caption = text.rfind("[image:")
    if text.endswith("]") and caption >= 0 and "]" not in text[caption:-1]:
        text = text[:caption]
    end = len(text)
    while end and (text[end - 1].isspace() or text[end - 1] in _CLOSING):
        end -= 1
    return text[:end]


def _marks(span: DateSpan) -> Iterator[str]:
    """Yield the index marks of a period: its days if few, months, years (``d20240131``, ``m202401``)."""
    if span.days <= 10:
        yield from (f"d{day:%Y%m%d}" for day in _days(span))
    if span.days <= 100:
        yield from {f"m{day:%Y%m}" for day in _days(span)}
    if span.days <= 1000:
        yield from {f"y{year}" for year in range(span.first.year, span.last.year + 1)}


def marks_to_find(result: Iterable[DateSpan]) -> tuple[str, ...]:
    """Return the marks that find entries of these periods, at the finest suitable resolution."""
    marks: set[str] = set()
    for span in result:
        finest = "d" if span.days <= 10 else "m" if span.days <= 100 else "y"
        marks |= {mark for mark in _marks(span) if mark[0] == finest}
    return tuple(sorted(marks))


def _days(span: DateSpan) -> Iterator[date]:
    return (span.first + timedelta(days=n) for n in range(span.days))
