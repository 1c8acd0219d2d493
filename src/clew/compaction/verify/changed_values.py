"""Find values that a claim changed: exchanged, put in another place, or replaced in the same sentence.

- ``exchanged_number``: "timeout 8123, port 30" for "timeout 30, port 8123"
- ``swapped_words``: "Delete new.py and keep old.py" for "Delete old.py and keep new.py"
- ``replaced_name``: "the user is kmeier" for "the user is jmeier"

Units, dates and numbers in words are in ``quantities.py``.
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


# Names replaced in the same sentence --------------------------------------------------------------------

_SENTENCE = re.compile(r"(?<=[.!?;。！？；])\s+|(?<=[。！？；])|\n+")
_VALUE_SIGNS = frozenset("/:@#-")
"""Signs within a name: "feature/beta", "db-two"."""
_SHORTEST_NAME = 5
"""Letters of a plain word that can be a name misspelt by one letter: shorter ones are words."""
_FEWEST_SAME = 2
"""Tokens that two sentences must share besides the one that differs."""


def replaced_name(text: str, sources: Iterable[str]) -> tuple[str, str] | None:
    """Return a name of a claim and the one that its sources have in the same sentence; else None.

    All other words are the same. A name has a sign in it ("feature/beta"), or differs from the word in its
    place by one letter that is not its last ("kmeier" for "jmeier").
    """
    claimed = list(filter(_is_long_enough, map(_tokens, _SENTENCE.split(text))))
    if not claimed:
        return None
    read = [source[:_READ].lower() for source in sources]
    keys = {token for own in claimed for token in sorted(own, key=len)[-2:]}  # one of two must be the same
    sentences = (sentence for source in read for sentence in _SENTENCE.split(source))
    stated = [_tokens(sentence) for sentence in sentences if any(key in sentence for key in keys)]
    for own in claimed:
        for theirs in stated:
            if len(theirs) == len(own) and (theirs[0] == own[0] or theirs[-1] == own[-1]):
                differ = [pair for pair in zip(own, theirs, strict=True) if pair[0] != pair[1]]
                if len(differ) == 1 and _is_other_name(*differ[0], read):
                    return differ[0]
    return None


def _is_long_enough(tokens: Sequence[str]) -> bool:
    return len(tokens) > _FEWEST_SAME


def _is_other_name(own: str, theirs: str, sources: Sequence[str]) -> bool:
    """Whether a word that no source has is another name than the one in its place."""
    if any(own in source for source in sources) or not (own[0].isalnum() and theirs[0].isalnum()):
        return False
    if all(not _VALUE_SIGNS.isdisjoint(word) for word in (own, theirs)):
        return True
    differ = [i for i, (a, b) in enumerate(zip(own, theirs, strict=False)) if a != b]
    is_near = len(own) == len(theirs) >= _SHORTEST_NAME and len(differ) == 1 and differ[0] < len(own) - 1
    return is_near and {own[differ[0]], theirs[differ[0]]} != {"s", "z"}  # analyse, analyze
