"""Find values that a claim has exchanged: "timeout 8123, port 30" for "timeout 30, port 8123".

A number is bound to the word before it ("port is 8123") and the word after it ("3 failed"). A claim is wrong
if its source binds a word of the claim to another number of the claim and never to the one that it has there,
and neither number is bound as in the source in any other way: rewording moves words, and rarely does that.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clew.rules.languages import is_function_word

_TOKEN = re.compile(r"[^\W\d_]+|(?<![\w.])\d+(?:[.,_]\d+)*(?:[a-zA-Z]{1,2}\b|(?!\w))|\d\w*|[^\w\s]|\n")
_NUMBER = re.compile(r"(\d+(?:[.,_]\d+)*)[a-zA-Z]{0,2}")
_PASSED_OVER = frozenset(":=\"'`*(-<>~≈[{|→")
"""Signs between a word and its number: ``"port": 8123``."""
_UNITS = frozenset(("sec", "second", "seconds", "min", "minutes", "hours", "days", "percent", "bytes"))
_REACH = 5
"""Tokens between a word and its number; chosen by hand."""
_SHORTEST = 3
_STEM = 5
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
    return word[:_STEM] if token.isalpha() and _is_content(token) and word not in _UNITS else ""


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


_WORD_OR_VALUE = re.compile(r"\w(?:[\w#./:@-]*\w)?|[^\w\s]")
_VALUE = re.compile(r".*[\d/].*|.+\.\w{1,5}")
"""A token that may be exchanged with another one: with a digit, or a path."""
_FEWEST_WORDS = 3
_SLOT = "\0"


def permuted_values(text: str, sources: Iterable[str]) -> str | None:
    """Return the first value of a claim that says what a source says, with values in other places; else None.

    "Delete new.py and keep old.py" for "Delete old.py and keep new.py": all words are the same and in order.
    """
    claimed, values = _skeleton(text)
    if len(set(values)) < 2 or len(claimed) - len(values) < _FEWEST_WORDS:
        return None
    wanted, moved = _joined(claimed), None
    for source in sources:
        if not all(value in source.lower() for value in values):
            continue
        words, theirs = _skeleton(source[:_READ])
        joined = _joined(words)
        at = joined.find(wanted)
        while at >= 0:
            first = joined.count(_SLOT, 0, at)
            there = theirs[first : first + len(values)]
            if there == values:
                return None
            if sorted(there) == sorted(values):
                moved = next(mine for mine, other in zip(values, there, strict=True) if mine != other)
            at = joined.find(wanted, at + 1)
    return moved


def _skeleton(text: str) -> tuple[list[str], list[str]]:
    """Return the words of a text with a slot for each value, without its last full stop; and the values."""
    tokens = [token.lower() for token in _WORD_OR_VALUE.findall(text.strip().rstrip(".。"))]
    values = [token for token in tokens if _VALUE.fullmatch(token)]
    return [_SLOT if _VALUE.fullmatch(token) else token for token in tokens], values


def _joined(words: list[str]) -> str:
    return f" {' '.join(words)} "


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
