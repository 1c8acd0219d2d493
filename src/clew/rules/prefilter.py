"""Decide by its words alone, before any parsing, which texts have to be read.

Nearly all texts of a session state no rule, and parsing is slow. There may be false positives, never false
negatives.

1. ``may_state_rule(text)``: a session repeats its words, so each whitespace-separated chunk is judged once
   and cached. Trackers of the ledger share the cache: each owns a bit, and the bits of a text's chunks
   together are its marks. A tracker whose bit is set reads the text, any other skips it.
2. ``is_silent(text)`` and ``may_match(...)``: every phrase with enough weight is listed by the most
   distinctive of its words, "ask me before" by "ask". A sentence is parsed only if it has all the words of
   such a phrase, in order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from clew.message.text import lazy_pattern
from clew.rules.cues import Language, Phrase
from clew.rules.languages import ENGLISH, is_english, is_function_word, language
from clew.rules.pasted import LONG
from clew.rules.words import model, plain_words
from clew.rules.words import words as known_words

# By chunks -------------------------------------------------------------------------------------------

_LONGEST = 80
"""Characters of a chunk that is cached; longer ones are seldom repeated."""
_REMEMBERED = 200_000
_LONGEST_TEXT = 10_000
"""Characters of a text whose marks are cached, so that the cache does not hold long texts."""
_REMEMBERED_TEXTS = 1_024
_LETTERS = lazy_pattern(r"[A-Za-z]+")


class Chunks(dict[str, int]):
    """Cache from chunk to marks; cleared when it holds ``_REMEMBERED`` chunks."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 1
        self._by_word: dict[str, int] = {}
        self._judges: list[tuple[int, Callable[[str], object]]] = []

    def __missing__(self, chunk: str) -> int:
        """Judge a new chunk."""
        marks = 0
        for word in _LETTERS.findall(chunk):
            marks |= self._by_word.get(word.lower(), 0)
        for bit, judge in self._judges:
            if judge(chunk):
                marks |= bit
        if len(chunk) <= _LONGEST:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[chunk] = marks
        return marks

    def mark_words(self, words: Iterable[str]) -> int:
        """Return a new bit, set for chunks that contain one of these words (a to z, lower case)."""
        bit = self._new_bit()
        for word in words:
            self._by_word[word] = self._by_word.get(word, 0) | bit
        return bit

    def mark_by(self, judge: Callable[[str], object]) -> int:
        """Return a new bit, set for chunks for which ``judge``, a pure function, returns something true."""
        bit = self._new_bit()
        self._judges.append((bit, judge))
        return bit

    def _new_bit(self) -> int:
        self.clear()
        MARKS.clear()
        self._next, bit = self._next << 1, self._next
        return bit


class TextMarks(dict[str, int]):
    """Cache from text to the combined bits of its chunks: several trackers ask about the same few texts.

    It is indexed instead of called, as that happens several times a message.
    """

    def __missing__(self, text: str) -> int:
        """Combine the bits of a new text's chunks."""
        marks = 0
        for chunk in set(text.split()):
            marks |= CHUNKS[chunk]
        if len(text) <= _LONGEST_TEXT:
            if len(self) >= _REMEMBERED_TEXTS:
                self.clear()
            self[text] = marks
        return marks


CHUNKS = Chunks()
"""Shared by all ledgers: marks depend on the chunk alone."""
MARKS = TextMarks()


# By the words of phrases -----------------------------------------------------------------------------

_FAINT = 1.0
"""Weight below which a cue cannot make a rule without a heavier one."""
_LEADING_ON = frozenset(("must_thing", "runs_on", "turns"))
"""Cues with a low weight that become heavy in combination with the words before them."""
_TAKING_BACK = frozenset(("lift", "lift_that", "let_go", "may"))
"""Cues with a low weight that end rules."""
_MANY = 20
"""Number of phrases that need a word, from which on the word alone indicates a rule; chosen by hand."""
COMPLETION = "it"
"""Appended to a lead-in to test whether it forbids what follows: "Please don't:" becomes "don't it"."""


def is_silent(text: str) -> bool:
    """Return True if the words of an English text alone show that no sentence states or ends a rule.

    All words of the text are tested at once, in place of those of each sentence, heading and lead-in, so
    there are no false negatives. The text must be too short to be a briefing.
    """
    said = [*plain_words(text), COMPLETION]
    words = frozenset(said)
    if _prefilter_words().isdisjoint(words):
        return is_english(text, words)
    heads = language(ENGLISH).heading_words
    return heads.isdisjoint(words) and is_english(text, words) and not may_match(ENGLISH, said, words)


def may_matter(chunk: str) -> bool:
    """Return True if a text below ``LONG`` characters with this chunk has to be parsed.

    A text without such a chunk is silent.
    """
    words = plain_words(chunk)
    return not _prefilter_words().isdisjoint(words) or not is_english(chunk, words)


@cache
def _prefilter_words() -> frozenset[str]:
    """Return the words of which a non-silent English text contains at least one."""
    index = _index(ENGLISH)
    return language(ENGLISH).heading_words | index.by_word.keys() | index.by_member.keys()


class _Need(NamedTuple):
    """What a sentence must contain to match a phrase: all these words, and a word of each of the classes."""

    words: frozenset[str]
    classes: tuple[frozenset[str], ...] = ()
    in_order: tuple[str, ...] = ()
    """The words as they follow each other: "can you look" has both words of "you can"."""

    def is_met(self, said: Iterable[str], words: frozenset[str]) -> bool:
        """Return True if these words, said in this order, are enough."""
        if not self.words <= words or any(one.isdisjoint(words) for one in self.classes):
            return False
        left = iter(said)
        return all(word in left for word in self.in_order)


class _NeedIndex(NamedTuple):
    """The needs of the heavy phrases of a language, by distinctive words."""

    by_word: dict[str, dict[str, list[_Need]]]
    """By the most distinctive of their words, and the next one (or the same)."""
    by_member: dict[str, list[list[_Need]]]
    """Those without a distinctive word, by the members of their class of words."""


def may_match(name: str, said: Sequence[str], words: frozenset[str]) -> bool:
    """Return True if a sentence has all the words of a phrase that could state or end a rule, in order.

    ``name`` is its language, ``said`` its words in order, ``words`` the same as a set.
    """
    by_word, by_member = _index(name)
    for first in words & by_word.keys():
        by_second = by_word[first]
        for second in words & by_second.keys():
            if any(need.is_met(said, words) for need in by_second[second]):
                return True
    for word in words & by_member.keys():
        for group in by_member[word]:
            if any(need.is_met(said, words) for need in group):
                return True
    return False


@cache
def _index(name: str) -> _NeedIndex:
    index, by_class = _NeedIndex({}, {}), dict[frozenset[str], list[_Need]]()
    needs = _needs(name)
    frequent = _frequent_words(needs)

    def distinctiveness(word: str) -> tuple[bool, bool, bool, int, str]:
        is_common = word in known_words("evidence", "everywhere")
        return word in frequent, not is_function_word(word), not is_common, len(word), word

    for need in needs:
        first, second, *_ = *sorted(need.words, key=distinctiveness, reverse=True), "", ""
        if need.classes and first not in frequent:
            by_class.setdefault(need.classes[0], []).append(need)
        else:
            index.by_word.setdefault(first, {}).setdefault(second or first, []).append(need)
    for members, group in by_class.items():
        for member in members:
            index.by_member.setdefault(member, []).append(group)
    return index


def _needs(name: str) -> list[_Need]:
    """Return the needs of the phrases of a language that could state or end a rule."""
    tongue = language(name)
    if not isinstance(tongue, Language):
        return []
    cues = {cue for cue, row in model().cues.items() if row.weight >= _FAINT} | _TAKING_BACK | _LEADING_ON
    return [
        *(_Need(frozenset((negator,))) for negator in tongue.grammar.negators),
        *{_need(phrase) for phrase in tongue.all if phrase.cue in cues},
    ]


def _need(phrase: Phrase) -> _Need:
    entries = (*phrase.words, *phrase.tail)
    in_order = tuple(entry for entry in entries if isinstance(entry, str) and entry[0] != "-")
    words = frozenset(in_order)
    classes = [entry for entry in entries if isinstance(entry, frozenset)]
    if classes and all(map(is_function_word, words)):
        # "is frozen": most sentences have an "is", so the words of the class must be distinctive.
        return _Need(words, tuple(sorted(classes, key=len)[: 1 if words else 2]), in_order)
    return _Need(words, in_order=in_order)


def _frequent_words(needs: Iterable[_Need]) -> frozenset[str]:
    """Return the words of many phrases: "never" combines with most verbs, so it is cheaper to look for."""
    uses = Counter[str]()
    for need in needs:
        uses.update(dict.fromkeys(need.words, math.prod(map(len, need.classes))))
    common = known_words("evidence", "everywhere")
    return frozenset(word for word, count in uses.items() if count >= _MANY and word not in common)


_MARK = CHUNKS.mark_by(may_matter)


def may_state_rule(text: str) -> bool:
    """Return False if the words of a text show that it neither states nor ends a rule."""
    return len(text) >= LONG or bool(MARKS[text] & _MARK)
