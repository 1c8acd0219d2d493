"""What a claim asserts that can be looked up: exact values, numbers, quoted words, names, and its own words.

A claim in somebody's own words is believed as far as its words can be found in what it cites. That catches
inventions. It does not catch a lie told with the right words: no check without understanding does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from clew.ledger.kinds import KNOWN_WORDS, WORD, Known, ValueKind, with_punctuation
from clew.verify.quotes import Wording, is_unspaced, plain, stands_in


class Assertion(NamedTuple):
    """Something in a claim that must stand in its sources."""

    kind: ValueKind | None
    """None for the name of somebody or something."""
    text: str

    @property
    def noun(self) -> str:
        """Return what it is, for people."""
        return self.kind.value if self.kind else "name"


_NO_MORE_DIGITS = r"(?!\d|\.\d|,\d{3}(?!\d))"
_NUMBER = re.compile(
    rf"(?<![\w.])(?:\d{{1,3}}(?:,\d{{3}})+|\d+(?:_\d{{3}})*)(?:\.\d+)?(?!\w){_NO_MORE_DIGITS}"
)
_NUMBERED = re.compile(r"(?<!\w)[^\W\d]\w*\d\w*")
_LISTED = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]", re.MULTILINE)
_COUNTED = re.compile(r"^\d.*\s\w{4,}$")
"""``12 tests``: what was counted may be called something else, the number is looked up alone."""
_LONG_QUOTE = re.compile(r"[\"“„«]([^\"“”„«»]{5,2000})[\"”»]")
_NAME = re.compile(r"(?<=[^\W\d_.!?:…] |[,;] |.[(\"'`])[^\W\d_]{2,}")
_NOT_NAMES = frozenset(["it", "the", "this", "that", "user", "assistant"])
_GERMAN = re.compile(r"\b(?:der|die|das|und|nicht|ist|sind|ein|eine|wird|wurde|für|auf|den|dem)\b")


def assertions(text: str) -> Iterator[Assertion]:
    """Yield what a claim asserts, each thing once."""
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
        return  # there every noun has a capital
    for name in _NAME.findall(text):
        if name[0].isupper() and name.lower() not in _NOT_NAMES:
            yield Assertion(None, name)


def _is_broken(known: Known, text: str, at: int) -> bool:
    """Tell whether a number is the end of one whose thousands are set apart."""
    return (
        known.kind is ValueKind.NUMBER
        and text[max(0, at - 1) : at] == ","
        and text[at - 2 : at - 1].isdigit()
    )


def is_found(asserted: Assertion, source: Wording) -> bool:
    """Tell whether an assertion stands in a source."""
    text = source.text
    match asserted.kind:
        case ValueKind.PATH | ValueKind.FILE:
            return stands_in(asserted.text, text) and _is_one_path(asserted.text, text)
        case ValueKind.NUMBER:
            return _number(asserted.text).search(text) is not None
        case ValueKind.QUOTED:
            return plain(asserted.text) in source.plain
        case None:
            return re.search(rf"(?<![^\W_]){re.escape(asserted.text.casefold())}", source.plain) is not None
        case _:
            return stands_in(asserted.text, text)


def _is_one_path(path: str, text: str) -> bool:
    """Tell whether a path, perhaps shortened to its last components, means only one that the text names."""
    end = "" if path.endswith("/") else r"(?![\w-]|\.\w)"
    whole = rf"(?<![\w.@+%$#~-])([\w.@+%$#~/\\:-]*/)?{re.escape(path)}{end}"
    leading = {match[1] or "" for match in re.finditer(whole, text)}
    return "" in leading or len(leading) == 1


def _number(written: str) -> re.Pattern[str]:
    """Return what finds a number however its thousands are set apart, and its unit however it is spaced."""
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


# Its own words ---------------------------------------------------------------------------------------

FEWEST = 3
"""Words below which nothing can be said about a share."""
_RUN = re.compile(r"[^\W\d_]{2,}")
_STEM = 5


def support(text: str, plain_source: str) -> float:
    """Return the share of a text's longer words that stand in a source, if only with another ending."""
    stems = dict.fromkeys(_stems(text))
    if len(stems) < FEWEST:
        return 1.0
    return sum(stem in plain_source for stem in stems) / len(stems)


def _stems(text: str) -> Iterator[str]:
    values = {word for word in WORD.findall(text) if KNOWN_WORDS[word] is not None}
    for word in text.split():
        if word in values:
            continue
        for run in _RUN.findall(word.casefold()):
            if is_unspaced(run[0]):
                yield from (run[i : i + 2] for i in range(len(run) - 1))
            elif len(run) >= 4:
                yield run[:_STEM]


_OPPOSITES = (
    ("always", "never"),
    ("passed", "failed"),
    ("passes", "fails"),
    ("passing", "failing"),
    ("succeeded", "failed"),
    ("success", "failure"),
    ("enabled", "disabled"),
    ("enable", "disable"),
    ("allowed", "forbidden"),
    ("allowed", "prohibited"),
    ("valid", "invalid"),
    ("can", "cannot"),
    ("can", "can't"),
    ("is", "isn't"),
    ("do", "don't"),
    ("does", "doesn't"),
    ("did", "didn't"),
    ("will", "won't"),
    ("should", "shouldn't"),
    ("must", "must not"),
    ("do", "do not"),
    ("is", "is not"),
    ("true", "false"),
    ("with", "without"),
    ("included", "excluded"),
)
"""English only: in other languages a turned word goes unnoticed."""


def turned(text: str, plain_source: str) -> tuple[str, str] | None:
    """Return a word of a text whose opposite stands in the source while the word itself does not."""
    words = plain(text)
    for pair in _OPPOSITES:
        for said, opposite in (pair, pair[::-1]):
            if (
                stands_in(said, words)
                and not stands_in(opposite, words)
                and stands_in(opposite, plain_source)
                and not stands_in(said, plain_source.replace(opposite, ""))
            ):
                return said, opposite
    return None
