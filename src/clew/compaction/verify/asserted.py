"""The checkable assertions of a claim: exact values, numbers, quoted words and names.

A claim in a summariser's own words is accepted as far as its words occur in what it cites. That catches
inventions. It cannot catch a false statement made of words that do occur in the sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from clew.compaction.verify.quotes import Wording, begins_word, places, plain, stands_in, word_end
from clew.ledger.kinds import KNOWN_WORDS, WORD, Known, ValueKind, with_punctuation


class Assertion(NamedTuple):
    """Something in a claim that must occur in its sources."""

    kind: ValueKind | None
    """None for the name of a person or thing."""
    text: str

    @property
    def noun(self) -> str:
        """Return the noun for it, for messages to people."""
        return self.kind.value if self.kind else "name"


_NO_MORE_DIGITS = r"(?!\d|\.\d|,\d{3}(?!\d))"
_NUMBER = re.compile(
    rf"(?<![\w.])(?:\d{{1,3}}(?:,\d{{3}})+|\d+(?:_\d{{3}})*)(?:\.\d+)?(?!\w){_NO_MORE_DIGITS}"
)
_NUMBERED = re.compile(r"(?<!\w)[^\W\d]\w*\d\w*")
_LISTED = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]", re.MULTILINE)
_COUNTED = re.compile(r"^\d.*\s\w{4,}$")
"""``12 tests``: the counted thing may be called otherwise in the source, so only the number is checked."""
_LONG_QUOTE = re.compile(r"[\"“„«]([^\"“”„«»]{5,2000})[\"”»]")
_NAME = re.compile(r"(?<=[^\W\d_.!?:…] |[,;] |.[(\"'`])[^\W\d_]{2,}")
_NOT_NAMES = frozenset(["it", "the", "this", "that", "user", "assistant"])
_GERMAN = re.compile(r"\b(?:der|die|das|und|nicht|ist|sind|ein|eine|wird|wurde|für|auf|den|dem)\b")


def assertions(text: str) -> Iterator[Assertion]:
    """Yield what a claim asserts, without repetition."""
    text = _LISTED.sub("", text)
    yield from dict.fromkeys((*_values(text), *_numbers(text), *_names(text)))


def _values(text: str) -> Iterator[Assertion]:
    for match in WORD.finditer(text):
        known = KNOWN_WORDS[match[0]]
        if known is not None and not _is_broken(known, text, match.start()):
            yield Assertion(known.kind, known.value)
    for known, _ in with_punctuation(text, spoken=True):
        if not _COUNTED.search(known.value):
            yield Assertion(known.kind, known.value)
    yield from (Assertion(ValueKind.QUOTED, quoted) for quoted in _LONG_QUOTE.findall(text))


def _numbers(text: str) -> Iterator[Assertion]:
    yield from (Assertion(ValueKind.NUMBER, number) for number in _NUMBER.findall(text))
    yield from (Assertion(ValueKind.IDENTIFIER, word) for word in _NUMBERED.findall(text))


def _names(text: str) -> Iterator[Assertion]:
    if len(_GERMAN.findall(text)) > 1:
        return  # German capitalises every noun
    for name in _NAME.findall(text):
        if name[0].isupper() and name.lower() not in _NOT_NAMES:
            yield Assertion(None, name)


def _is_broken(known: Known, text: str, at: int) -> bool:
    """Whether a number is the last group of one with thousands separators."""
    return (
        known.kind is ValueKind.NUMBER
        and text[max(0, at - 1) : at] == ","
        and text[at - 2 : at - 1].isdigit()
    )


def is_found(asserted: Assertion, source: Wording) -> bool:
    """Whether a source contains an assertion."""
    text = source.text
    match asserted.kind:
        case ValueKind.PATH | ValueKind.FILE:
            return stands_in(asserted.text, text) and _is_one_path(asserted.text, text)
        case ValueKind.NUMBER:
            return _is_number_in(asserted.text, text)
        case ValueKind.QUOTED:
            return plain(asserted.text) in source.plain
        case None:
            return begins_word(asserted.text.casefold(), source.plain)
        case _:
            return stands_in(asserted.text, text)


_PATH_GOES_ON = re.compile(r"[\w-]|\.\w")
_IN_PATH = re.compile(r"[\w.@+%$#~-]")
_LEAD_BACKWARDS = re.compile(r"[\w.@+%$#~/\\:-]*")
_LONGEST_LEAD = 1_000
_MOST_PATHS = 1_000
"""Occurrences of one path that are examined; a bound against repetitive texts, chosen by hand."""


def _is_one_path(path: str, text: str) -> bool:
    """Whether a path, possibly shortened to its last components, matches exactly one path in the text."""
    if text.count(path) == 1:
        at = text.find(path)
        ends = path.endswith("/") or not _PATH_GOES_ON.match(text, at + len(path))
        return ends and (at == 0 or _IN_PATH.match(text, at - 1) is None)
    return _is_one_of_many(path, text)


def _is_one_of_many(path: str, text: str) -> bool:
    leading = {
        lead
        for at in islice(places(path, text), _MOST_PATHS)
        if path.endswith("/") or not _PATH_GOES_ON.match(text, at + len(path))
        if (lead := _lead(text, at)) is not None
    }
    return "" in leading or len(leading) == 1


def _lead(text: str, at: int) -> str | None:
    """Return the part of a longer path before a position; None if the position is inside a name."""
    backwards = _LEAD_BACKWARDS.match(text[max(0, at - _LONGEST_LEAD) : at][::-1])
    lead = backwards[0] if backwards else ""
    return lead if not lead or lead[0] in "/\\:" else None


_AS_WRITTEN = re.compile(r"\d+(?:\.\d+)?(?:[ -]?[^\W\d_]+|%)?")
_MORE_DIGITS = re.compile(r"\d|\.\d|,\d{3}(?!\d)")


def _is_number_in(written: str, text: str) -> bool:
    """Whether a text contains a number. Tries the exact spelling first, which needs no pattern."""
    if written in text and _AS_WRITTEN.fullmatch(written):
        at = text.find(written)
        while at >= 0:
            begins = at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_.,")
            if begins and not _MORE_DIGITS.match(text, at + len(written)):
                return True
            at = text.find(written, at + 1 if begins else word_end(text, at))
    return _number(written).search(text) is not None


def _number(written: str) -> re.Pattern[str]:
    """Return a pattern for a number with any thousands separator and any spacing before its unit."""
    unit = written.lstrip("0123456789,._$€£ -")
    digits = written.removesuffix(unit).strip().replace(",", "").replace("_", "")
    whole, point, fraction = digits.partition(".")
    body = "[,_]?".join(map(re.escape, _thousands(whole))) + re.escape(point + fraction)
    body += rf"[\s-]?{re.escape(unit)}" if unit else ""
    not_after = r"(?<![\w.])(?<!\d,)" if len(whole) == 3 else r"(?<![\w.])"
    return re.compile(not_after + body + _NO_MORE_DIGITS)


def _thousands(digits: str) -> list[str]:
    first = len(digits) % 3 or 3
    return [digits[:first], *(digits[i : i + 3] for i in range(first, len(digits), 3))]
