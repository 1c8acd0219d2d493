"""The checkable content of a claim: exact values, numbers, names, and its own words.

"Alice set MAX_RETRIES to 5" asserts the name ``Alice``, the identifier ``MAX_RETRIES`` and the number ``5``
(``assertions``), each of which must occur in a source (``is_found``); of the rest, ``support`` is the share
of the longer words that do, ``negated_word`` one that the source only has as its opposite.

A claim in a summariser's own words is accepted as far as its words occur in what it cites. That catches
inventions. It cannot catch a false statement made of words that do occur in the sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import NamedTuple

from clew.compaction.verify.wording import (
    Wording,
    begins_word,
    is_unspaced,
    occurs_in,
    places,
    plain,
    word_end,
)
from clew.ledger.kinds import WORD, Known, ValueKind, classify, with_punctuation
from clew.rules.languages import is_function_word


class Assertion(NamedTuple):
    """Something in a claim that must occur in its sources."""

    kind: ValueKind | None
    """None for the name of a person or thing."""
    text: str

    @property
    def noun(self) -> str:
        """Return the noun for it, for messages to people."""
        return self.kind.value if self.kind else "name"


# Values, numbers and names --------------------------------------------------------------------------------

_GOES_ON = r"\d|\.\d|,\d{3}(?!\d)|[A-Fa-f][\dA-Fa-f]{3,}(?!\w)"
"""What follows the beginning of a longer number or of a hash, ``30abc1f``; a unit may follow a number."""
_NO_MORE_DIGITS = rf"(?!{_GOES_ON})"
_NUMBER = re.compile(
    rf"(?<![\w.])(?:\d{{1,3}}(?:,\d{{3}})+|\d+(?:_\d{{3}})*)(?:\.\d+)?(?!\w){_NO_MORE_DIGITS}"
)
"""A number that stands alone: 8123, 1,200, 3.5."""
_NUMBERED = re.compile(r"(?<!\w)[^\W\d]\w*\d\w*")
"""A name with a digit: utf8, m4."""
_LISTED = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]", re.MULTILINE)
"""The number of a list item, which asserts nothing."""
_COUNTED = re.compile(r"^\d.*\s\w{4,}$|^[^\W\d]{3,}\.? \d")
"""``12 tests``, ``March 5``: the thing or date may be called otherwise in the source, so only the number is
checked."""
_LONG_QUOTE = re.compile(
    r"(?:(?<!\w)\"(?=\S)([^\"]{5,2000}?)(?<=\S)\"(?!\w)|[“„«]([^“”„«»]{5,2000})[”»])|\"[^\"]{0,4}\""
)
"""A quotation of several words, which must occur as it is. Short ones match too, so that what is between
two of them is not taken for a quotation."""
_NAME = re.compile(r"(?<=[^\W\d_.!?:…] |[,;] |.[(\"'`])[^\W\d_]{2,}")
"""A word within a sentence, which is a name if it is capitalised."""
_NOT_NAMES = frozenset(["it", "the", "this", "that", "user", "assistant"])
_GERMAN = re.compile(r"\b(?:der|die|das|und|nicht|ist|sind|ein|eine|wird|wurde|für|auf|den|dem)\b")


def assertions(text: str) -> Iterator[Assertion]:
    """Yield what a claim asserts, without repetition."""
    text = _LISTED.sub("", text)
    yield from dict.fromkeys((*_values(text), *_numbers(text), *_names(text)))


def _values(text: str) -> Iterator[Assertion]:
    for match in WORD.finditer(text):
        known = classify(match[0])
        if known is not None and not _is_digit_group(known, text, match.start()):
            yield Assertion(known.kind, known.value)
    for known, _ in with_punctuation(text, spoken=True):
        if not _COUNTED.search(known.value):
            yield Assertion(known.kind, known.value)
    quotations = (straight or curly for straight, curly in _LONG_QUOTE.findall(text))
    yield from (Assertion(ValueKind.QUOTED, quotation) for quotation in quotations if quotation)


def _numbers(text: str) -> Iterator[Assertion]:
    yield from (Assertion(ValueKind.NUMBER, number) for number in _NUMBER.findall(text))
    yield from (Assertion(ValueKind.IDENTIFIER, word) for word in _NUMBERED.findall(text))


def _names(text: str) -> Iterator[Assertion]:
    if len(_GERMAN.findall(text)) > 1:
        return  # German capitalises every noun
    for name in _NAME.findall(text):
        if name[0].isupper() and name.lower() not in _NOT_NAMES:
            yield Assertion(None, name)


def _is_digit_group(known: Known, text: str, at: int) -> bool:
    """Whether a number is only the last group of a longer one: the ``200`` of ``1,200``."""
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
            return occurs_in(asserted.text, text) and _is_one_path(asserted.text, text)
        case ValueKind.NUMBER:
            return _is_number_in(asserted.text, text)
        case ValueKind.QUOTED:
            return plain(asserted.text) in source.plain
        case None:
            return begins_word(asserted.text.casefold(), source.plain)
        case _:
            return occurs_in(asserted.text, text)


_PATH_GOES_ON = re.compile(r"[\w-]|\.\w")
"""What follows a path that is only the start of a longer one: ``src/app`` in ``src/app.py``."""
_IN_PATH = re.compile(r"[\w.@+%$#~-]")
"""A character of a file name: before a path it makes it the end of a longer name."""
_LEAD_BACKWARDS = re.compile(r"[\w.@+%$#~/\\:-]*")
"""The folders before a path, in the reversed text before it."""
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
    """Return the part of a longer path before a position; None if the position is inside a name.

    The JSON of a call doubles the backslashes of a Windows path; its value, shown beside it, does not.
    """
    backwards = _LEAD_BACKWARDS.match(text[max(0, at - _LONGEST_LEAD) : at][::-1])
    lead = backwards[0].replace("\\\\", "\\") if backwards else ""
    return lead if not lead or lead[0] in "/\\:" else None


_AS_WRITTEN = re.compile(r"\d+(?:\.\d+)?(?:[ -]?[^\W\d_]+|%)?")
_MORE_DIGITS = re.compile(_GOES_ON)


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


# Words ----------------------------------------------------------------------------------------------------

FEWEST_WORDS = 3
"""If a claim has fewer long words than this, short ones count too: a share of one or two means nothing."""
SELF_REFERENCES = frozenset(("next", "step", "todo", "task", "still", "open", "remai", "need", "needs"))
"""Stems with which a summary speaks of itself, not of the session: ``next step``, ``still open``."""
DONE_TO_FILES = frozenset(("read", "wrote", "writt", "creat", "chang", "edit", "edite", "modif", "updat"))
"""Stems that say what was done to a file; tools use other words for the same."""
_ACTS = tuple(
    tuple(stem.rstrip("e") for stem in group.split())
    for group in (
        "delet remov drop wipe erase destr purge rm trunc unlin reset rever disca unins",
        "clean",
        "push publi deplo relea uploa merge send ship submi force share",
        "skip disab bypas ignor overr suppr omit",
        "pay buy purch trans refun cance book",
        "order",
        "commi",
        "sudo",
        "curl wget downl fetch",
    )
)
"""Stems of actions that are hard to undo, without the "e" that "wiping" lacks; those of one row are
equivalent."""
_RUN = re.compile(r"[^\W\d_]{2,}")
_ENDING = re.compile(r"(?<=\w{3})(\w?)(?:(?<=(\w))\2)?(?:ed|ing|e?s)$")
"""English endings, with a doubled letter before them: dropped, pushing."""
_ENDINGS = ("s", "ed", "ing")
_DIGIT = re.compile(r"\d")
_LONGER = 4
"""Letters from which a word counts as long: shorter ones occur in any text."""
_STEM = 5
"""Letters by which two forms of a word are the same."""


def support(text: str, plain_source: str, spared: Collection[str] = ()) -> float:
    """Return the share of a text's longer words that occur in a source, with any ending.

    If there are hardly any, all content words count.
    """
    stems = {stem for stem in _stems(_prose(text)) if _is_longer(stem) and stem not in spared}
    return share(stems if len(stems) >= FEWEST_WORDS else content(text, spared), plain_source)


def content(text: str, spared: Collection[str] = ()) -> list[str]:
    """Return the stems of a text's content words, without repetition and without exact values."""
    return [stem for stem in things(_prose(text)) if stem not in spared]


def things(text: str) -> list[str]:
    """Return the stems of everything in a text that has content, without repetition."""
    return list(dict.fromkeys(_stems(text, is_function_word)))


def unmentioned_action(text: str, plain_source: str) -> str:
    """Return an action that is hard to undo and that the source never mentions; "" if there is none."""
    texts = {stem.rstrip("e") for stem in things(text)}
    for group in _ACTS:
        act = next((stem for stem in group if stem in texts), "")
        if act and not any(begins_word(stem, plain_source) for stem in group):
            return act
    return ""


def share(stems: Collection[str], plain_source: str) -> float:
    """Return the share of these stems that occurs in a source."""
    return sum(occurs(stem, plain_source) for stem in stems) / len(stems) if stems else 1.0


def occurs(stem: str, plain_source: str) -> bool:
    """Whether a word with this stem occurs in a source."""
    # Short stems also occur inside other words: "rm" in "form".
    return stem in plain_source if _is_longer(stem) else begins_word(stem, plain_source)


def _is_longer(stem: str) -> bool:
    return len(stem) >= _LONGER or is_unspaced(stem[0])


def _prose(text: str) -> str:
    """Return a text without its exact values and numbers, which are checked separately."""
    values = {word for word in WORD.findall(text) if classify(word) is not None}
    return " ".join(word for word in text.split() if word not in values and not _DIGIT.search(word))


def _stems(text: str, is_left_out: Callable[[str], bool] | None = None) -> Iterator[str]:
    for run in _RUN.findall(text.casefold()):
        if is_left_out is not None and is_left_out(run):
            continue
        if is_unspaced(run[0]):
            yield from (run[i : i + 2] for i in range(len(run) - 1))
        else:
            yield _without_ending(run)[:_STEM]


def _without_ending(word: str) -> str:
    ending = _ENDING.search(word) if word.endswith(_ENDINGS) else None
    return word[: ending.end(1)] if ending else word


# Opposites ------------------------------------------------------------------------------------------------

_OPPOSITES = (
    ("always", "never"),
    ("passed", "failed"),
    ("tests pass", "tests fail"),
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
"""English only: an opposite in another language is not noticed."""
_NO_FAILURES = re.compile(
    r"\b(?:0|no|zero)\s+(?:\w+\s+)?fail(?:ed|ing|ures?)\b|\bfail(?:ed|ures?)\s?[:=]\s?0\b"
)
"""A count of no failures, which denies nothing: "12 ok, 0 failed"."""
_OPPOSITES_BOTH_WAYS = tuple(ordered for pair in _OPPOSITES for ordered in (pair, pair[::-1]))


def negated_word(text: str, plain_source: str) -> tuple[str, str] | None:
    """Return a word of a text and its opposite, if the source has only the opposite; else None."""
    words, plain_source = plain(text), _NO_FAILURES.sub(" ", plain_source)
    for word, opposite in _OPPOSITES_BOTH_WAYS:
        if (
            word in words
            and opposite in plain_source
            and occurs_in(word, words)
            and not occurs_in(opposite, words)
            and occurs_in(opposite, plain_source)
            and not _occurs_outside(word, opposite, plain_source)
        ):
            return word, opposite
    return None


def _occurs_outside(word: str, opposite: str, text: str) -> bool:
    """Whether a text has a word other than as the beginning of its opposite: ``must`` in ``must not``."""
    if not opposite.startswith(word):
        return occurs_in(word, text)
    negated = set(places(opposite, text))
    return any(at not in negated for at in places(word, text))
