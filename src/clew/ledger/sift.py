"""Which questions a text needs to be asked at all: told by its words, each judged once and remembered.

A session says the same words again and again. What stands between two white spaces is looked up, not read;
what it may matter to is a bit of a number, and the bits of its words together are the marks of a text. Marks
may only say too much: a keeper that finds its bit looks closer, one that does not is done with the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

_LONGEST = 80
"""Characters of a chunk that is remembered; longer ones seldom come back."""
_REMEMBERED = 200_000
_LONGEST_TEXT = 10_000
"""Characters of a text of which the marks are remembered: those of long ones would be held for nothing."""
_LETTERS = re.compile(r"[A-Za-z]+")


class Chunks(dict[str, int]):
    """Remembers the marks of what stands between two white spaces; forgets all when they are too many."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 1
        self._by_word: dict[str, int] = {}
        self._judges: list[tuple[int, Callable[[str], bool]]] = []

    def __missing__(self, chunk: str) -> int:
        """Judge a chunk that was not met before."""
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
        """Return the bit of the chunks that hold one of these words: letters from a to z, in lower case."""
        bit = self._new_bit()
        for word in words:
            self._by_word[word] = self._by_word.get(word, 0) | bit
        return bit

    def mark_by(self, judge: Callable[[str], bool]) -> int:
        """Return the bit of the chunks for which a function says yes; it must depend on nothing else."""
        bit = self._new_bit()
        self._judges.append((bit, judge))
        return bit

    def _new_bit(self) -> int:
        self.clear()
        self._next, bit = self._next << 1, self._next
        return bit


CHUNKS = Chunks()
"""Shared by all ledgers: what a chunk may matter to depends on nothing else."""
_MARKS_OF = CHUNKS.__getitem__


def marks(text: str) -> int:
    """Return what the words of a text may matter to."""
    return _remembered_marks(text) if len(text) <= _LONGEST_TEXT else _marks(text)


def _marks(text: str) -> int:
    found = 0
    for mark in set(map(_MARKS_OF, text.split())):
        found |= mark
    return found


_remembered_marks = lru_cache(maxsize=1_024)(_marks)
"""Several keepers ask about the texts of the same few messages."""


def chunks_with(bit: int, text: str) -> list[str]:
    """Return the chunks of a text that have a mark, each once, in the order in which they first come."""
    if len(text) <= _LONGEST_TEXT and not marks(text) & bit:
        return []  # as was found out when its message came in
    return [chunk for chunk in dict.fromkeys(text.split()) if _MARKS_OF(chunk) & bit]
