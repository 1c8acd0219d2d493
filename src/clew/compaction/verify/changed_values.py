"""Find values that a claim changed: exchanged, put in another place, invented in words, given another unit.

- ``exchanged_number``: "timeout 8123, port 30" for "timeout 30, port 8123"
- ``swapped_words``: "Delete new.py and keep old.py" for "Delete old.py and keep new.py"
- ``invented_number_word``: "seventeen files" if no source says seventeen or 17
- ``changed_quantity``: "45 s" for "45 ms", "7 minutes" or "unlimited" for "7"
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from clew.rules.languages import is_function_word

# Exchanged numbers --------------------------------------------------------------------------------------
#
# A number is bound to the word before it ("port is 8123") and the word after it ("3 failed"). A claim is
# wrong if its source binds a word of the claim to another number of the claim and never to the one that it
# has there, and neither number is bound as in the source in any other way: rewording moves words, and rarely
# does that.

_TOKEN = re.compile(r"[^\W\d_]+|(?<![\w.])\d+(?:[.,_]\d+)*(?:[a-zA-Z]{1,2}\b|(?!\w))|\d\w*|[^\w\s]|\n")
_NUMBER = re.compile(r"(\d+(?:[.,_]\d+)*)[a-zA-Z]{0,2}")
_PASSED_OVER = frozenset(":=\"'`*(-<>~≈[{|→")
"""Signs between a word and its number: ``"port": 8123``."""
_UNIT_WORDS = frozenset(("sec", "second", "seconds", "min", "minutes", "hours", "days", "percent", "bytes"))
_REACH = 5
"""Tokens between a word and its number; chosen by hand."""
_SHORTEST = 3
"""Letters of a word that a number can be bound to."""
_STEM = 5
"""Letters by which two forms of a word are the same: ``retry``, ``retries``."""
_READ = 50_000
"""Characters of a source that are read: a bound against huge outputs, chosen by hand."""


class Binding(NamedTuple):
    """A word and the number that it stands with."""

    word: str
    number: str
    follows: bool
    """Whether the word follows the number."""


def bindings(text: str) -> Iterator[Binding]:
    """Yield the words that stand directly before and after the numbers of a text."""
    tokens = _TOKEN.findall(text[:_READ])
    for place, token in enumerate(tokens):
        written = _NUMBER.fullmatch(token)
        if written is None:
            continue
        number = written[1].replace(",", "").replace("_", "")
        before = _word_before(tokens, place)
        if before:
            yield Binding(before, number, follows=False)
        after = _stem(tokens[place + 1]) if place + 1 < len(tokens) else ""
        if after:
            yield Binding(after, number, follows=True)


def _word_before(tokens: list[str], place: int) -> str:
    """Return the stem of the nearest content word before a number; "" if a comma or a number comes first."""
    for token in reversed(tokens[max(0, place - _REACH) : place]):
        if token in _PASSED_OVER or (token.isalpha() and not _is_content(token)):
            continue
        return _stem(token)
    return ""


def _is_content(token: str) -> bool:
    return len(token) >= _SHORTEST and not is_function_word(token.lower())


def _stem(token: str) -> str:
    word = token.lower()
    return word[:_STEM] if token.isalpha() and _is_content(token) and word not in _UNIT_WORDS else ""


def exchanged_number(text: str, sources: Iterable[str]) -> Binding | None:
    """Return a binding of a claim whose number belongs to another of its words in the sources; else None."""
    claimed = frozenset(bindings(text))
    if len({binding.number for binding in claimed}) < 2:
        return None
    numbers: dict[tuple[str, bool], set[str]] = defaultdict(set)
    words: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        for word, number, follows in bindings(source):
            numbers[word, follows].add(number)
            words[number].add(word)
    right = {number for word, number, _ in claimed if word in words[number]}
    wrong = [binding for binding in claimed if binding.number not in right and words[binding.number]]
    for binding in sorted(wrong):
        theirs = numbers[binding.word, binding.follows]
        if any(other.number in theirs and other.word != binding.word for other in wrong):
            return binding
    return None


# Words in each other's places ---------------------------------------------------------------------------

_WORD_OR_VALUE = re.compile(r"\w(?:[\w#./:@-]*\w)?|[^\w\s`'\"*()\[\]]")
_STATES = frozenset(("on", "off", "up", "down"))
"""Function words that say what is the case: "off in staging and on in production"."""
_EITHER_WAY = frozenset(
    (
        "and",
        "or",
        "nor",
        "vs",
        "versus",
        "with",
        "plus",
        "as",
        "well",
        "both",
        "either",
        "&",
        "/",
        "+",
        ",",
        "|",
    )
)
"""Words between two things that mean the same if the things change places."""
_LONGEST_BETWEEN = 6
"""Tokens between two words that are compared: of more, the same ones rarely occur by chance."""


def swapped_words(text: str, sources: Iterable[str]) -> tuple[str, str] | None:
    """Return two words of a claim that its sources have in each other's places only; else None.

    "from v20 to v18" for "from v18 to v20", "keep new.py and drop old.py" for "keep old.py and drop new.py":
    all words between the two are the same.
    """
    claimed = _tokens(text)
    wanted = {
        (second, between, first): (first, second)
        for first, between, second in _ordered_pairs(claimed)
        if first != second
    }
    if not wanted:
        return None
    found: set[tuple[str, str]] = set()
    same: set[tuple[str, str]] = set()
    words = set(claimed)
    for source in sources:
        # Only stretches of the claim's own words can match.
        for pair in _ordered_pairs([token if token in words else "" for token in _tokens(source[:_READ])]):
            if pair in wanted:
                found.add(wanted[pair])
            elif (pair[2], pair[1], pair[0]) in wanted:
                same.add((pair[0], pair[2]))
    return min(found - same, default=None)


def _tokens(text: str) -> list[str]:
    return [token.lower() for token in _WORD_OR_VALUE.findall(text)]


def _ordered_pairs(tokens: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield two content words and what is between them, if their order matters."""
    for at, first in enumerate(tokens):
        if not _has_content(first):
            continue
        for end in range(at + 2, min(at + 2 + _LONGEST_BETWEEN, len(tokens))):
            if tokens[end - 1] in _SENTENCE_ENDS:
                break
            between = tuple(tokens[at + 1 : end])
            says_something = any(token[0].isalnum() for token in between if token)
            if _has_content(tokens[end]) and says_something and not _EITHER_WAY.issuperset(between):
                yield first, between, tokens[end]


_SENTENCE_ENDS = frozenset((".", "!", "?", ";", ""))


def _has_content(token: str) -> bool:
    return token in _STATES or (token[:1].isalnum() and not is_function_word(token))


# Numbers in words ---------------------------------------------------------------------------------------

_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TEENS = (
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen"),
    *("sixteen", "seventeen", "eighteen", "nineteen"),
)
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SPELT = re.compile(rf"\b(?:({'|'.join(_TENS)})(?:[- ]({'|'.join(_ONES)}))?|({'|'.join(_TEENS)}))\b", re.I)
"""English numbers in words from eleven on; smaller ones are counted by the reader."""


def invented_number_word(text: str, sources: Iterable[str]) -> str | None:
    """Return a number in words that no source has, in words or in digits; else None."""
    found = list(_SPELT.finditer(text))
    listed = [source.lower() for source in sources] if found else []
    for match in found:
        tens, ones, teen = (part.lower() if part else "" for part in match.groups())
        number = _TEENS.index(teen) + 11 if teen else (_TENS.index(tens) + 2) * 10
        number += _ONES.index(ones) + 1 if ones else 0
        digits = re.compile(rf"(?<![\d.,]){number}(?!\d)")
        if not any(match[0].lower() in source or digits.search(source) for source in listed):
            return match[0]
    return None


# Units --------------------------------------------------------------------------------------------------

_FORMS = {
    "ms": r"ms|msecs?|milliseconds?",
    "s": r"s|secs?|seconds?",
    "min": r"mins?|minutes?",
    "h": r"h|hrs?|hours?",
    "day": r"days?",
    "week": r"weeks?",
    "month": r"months?",
    "year": r"years?",
    "%": r"%|percent|pct",
    "KB": r"[kK]i?B|kilobytes?",
    "MB": r"Mi?B|megabytes?",
    "GB": r"Gi?B|gigabytes?",
    "EUR": r"€|EUR|euros?",
    "USD": r"USD|dollars?",
}
_UNIT_OF = {unit: re.compile(form) for unit, form in _FORMS.items()}
_ANY_UNIT = "|".join(_FORMS.values())
_QUANTITY = re.compile(rf"(?<![\w.])(\d+(?:[.,_]\d+)*)(?:[\s-]?({_ANY_UNIT})(?!\w))?")
_HINTS = {
    "min": r"minut|\bmins?\b|\d\s?m\b|_min",
    "h": r"hour|\bhrs?\b|\d\s?h\b|_h\b",
    "day": r"day|\d\s?d\b|date|daily",
    "week": r"week|\d\s?w\b",
    "month": r"month|\d\s?mo\b",
    "year": r"year|annual|\d\s?y\b",
    "%": r"%|percent|pct|ratio|share",
    "KB": r"\bki?b|kilobyte|\d\s?k\b",
    "MB": r"mi?b\b|megabyte|\d\s?m\b",
    "GB": r"gi?b\b|gigabyte|\d\s?g\b",
    "EUR": r"€|eur",
    "USD": r"\$|usd|dollar|price|cost",
    "ms": r"ms\b|milli",
}
"""What in a source speaks of a unit, however it writes it. Bare numbers of timeouts are seconds."""
_HINT_OF = {unit: re.compile(hint, re.IGNORECASE) for unit, hint in _HINTS.items()}
_SPELT_UP_TO = 12
"""Sources may write numbers up to this one in words."""
_UNLIMITED = re.compile(r"\b(?:unlimited|unbounded|infinite(?:ly)?|limitless)\b", re.IGNORECASE)
_NO_LIMIT = re.compile(
    r"unlimited|unbound|infinit|limitless|endless|forever|∞|\binf\b|-1\b|"
    r"\b(?:no|without|any|never)\b.{0,20}(?:limit|maximum|max\b|cap\b|bound|end\b|stop)",
    re.IGNORECASE,
)


def changed_quantity(text: str, sources: Iterable[str]) -> str | None:
    """Return a quantity of a claim whose unit or size its sources do not have; else None."""
    claimed = [(number, unit, written) for number, unit, written in _quantities(text) if unit]
    endless = _UNLIMITED.search(text)
    if not claimed and endless is None:
        return None
    read = [source[:_READ] for source in sources]
    if endless is not None and not any(_NO_LIMIT.search(source) for source in read):
        return endless[0]
    units: dict[str, set[str]] = defaultdict(set)
    for source in read if claimed else ():
        for number, unit, _ in _quantities(source):
            units[number].add(unit)
    for number, unit, written in claimed:
        theirs = units[number]
        if theirs and unit not in theirs and _is_changed(number, unit, theirs, read):
            return written
    return None


def _is_changed(number: str, unit: str, theirs: set[str], sources: Sequence[str]) -> bool:
    """Whether a number has another unit in the sources, or none there and nothing speaks of this one."""
    hint = _HINT_OF.get(unit)
    is_spoken_of = hint is not None and any(map(hint.search, sources))
    if "" not in theirs:
        return not (is_spoken_of and float(number.rstrip(".")) <= _SPELT_UP_TO)
    return hint is not None and not is_spoken_of


def _quantities(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each number of a text, its unit or "", and both as they are written."""
    for match in _QUANTITY.finditer(text):
        number, written = match[1].replace(",", "").replace("_", ""), match[2] or ""
        if number.count(".") > 1:  # a version
            continue
        yield number, next((unit for unit, form in _UNIT_OF.items() if form.fullmatch(written)), ""), match[0]
