"""A prefilter over words: which trackers need to read a text, and whether it can state a rule.

A session repeats its words, so each whitespace-separated chunk is judged once and cached. Each tracker owns a
bit; the bits of a text's chunks together are its marks. Marks may have false positives, never false
negatives: a tracker whose bit is set reads the text, any other skips it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from clew.message.patterns import lazy_pattern
from clew.rules.evidence import may_matter
from clew.rules.pasted import LONG

_LONGEST = 80
"""Characters of a chunk that is cached; longer ones are seldom repeated."""
_REMEMBERED = 200_000
_LONGEST_TEXT = 10_000
"""Characters of a text whose marks are cached, so that the cache does not hold long texts."""
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
        _remembered_marks.cache_clear()
        self._next, bit = self._next << 1, self._next
        return bit


def marks(text: str) -> int:
    """Return the combined bits of a text's chunks."""
    return _remembered_marks(text) if len(text) <= _LONGEST_TEXT else _marks(text)


def _marks(text: str) -> int:
    found = 0
    for mark in set(map(_MARKS_OF, text.split())):
        found |= mark
    return found


CHUNKS = Chunks()
"""Shared by all ledgers: marks depend on the chunk alone."""
_MARKS_OF = CHUNKS.__getitem__
_remembered_marks = lru_cache(maxsize=1_024)(_marks)
"""Several trackers ask about the same few texts."""


_MARK = CHUNKS.mark_by(may_matter)


def may_state_rule(text: str) -> bool:
    """Return False if the words of a text show that it neither states nor ends a rule."""
    return len(text) >= LONG or bool(marks(text) & _MARK)
