"""Prefilters for phrase patterns, and the sentence around a match, skipping code and quotations.

A pattern such as "let's (use|keep) …" is slow, so ``Phrases(("let lets", "use keep")).may_match(text)``
first checks whether the words are there at all. ``sentences_with(pattern, signs, text)`` then yields the
sentences in which the pattern matches. The files with phrase patterns (decisions, announcements, goal) use
both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from clew.message.text import AnyCasePattern, lazy_pattern
from clew.rules.prefilter import CHUNKS, MARKS

LONGEST_SENTENCE = 600
"""Characters of a sentence; a longer one is data or a paragraph without full stops. Chosen by hand."""
_END = lazy_pattern(r"[.!?…](?=[\"'”’)*_`]*(?:\s|$))|[。！？]|\n")
"""The end of a sentence or line."""
_ABBREVIATION = lazy_pattern(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|fig)$", re.IGNORECASE)
"""An abbreviation, whose full stop ends no sentence."""
_MARKER = lazy_pattern(r"\s*(?:[-*+•]\s+|\d{1,2}[.)]\s+|#{1,6}\s+)?(?:\[[ xX]\]\s+)?(?:\*\*|__)?")
_FOREIGN_LINE = lazy_pattern(r"[ \t]*(?:>|\||//|/\*|\$ |@@|<\w)|\t| {8,}")
"""The beginning of a quoted, table, diff or code line."""
_CLOSERS = "\"'”’)*_`"
"""Characters that close a sentence after its full stop."""
_LOWER = bytes(ord(chr(n).lower()) if n < 128 and chr(n).isalpha() else ord(" ") for n in range(256))
"""Translation table: ASCII letters to lower case, everything else to spaces."""


class Phrases:
    """A prefilter: sets of words that each phrase needs, to skip texts that cannot contain one."""

    def __init__(self, *phrases: tuple[str, ...]) -> None:
        """Take, for each phrase, sets of words of which it needs at least one each, the rarest set first.

        The words of a set are separated by spaces, in lower case and in ASCII.
        """
        self._needs = [[frozenset(one_of.encode().split()) for one_of in phrase] for phrase in phrases]
        self._mark = CHUNKS.mark_words(word.decode() for first, *_ in self._needs for word in first)
        self._one_word_does = all(len(phrase) == 1 for phrase in self._needs)

    def may_match(self, text: str) -> bool:
        """Return False if a text cannot contain any of the phrases."""
        if not MARKS[text] & self._mark:
            return False
        if self._one_word_does:
            return True
        words = _words(text)
        for phrase in self._needs:  # loops, as this runs several times a message
            for one_of in phrase:
                if one_of.isdisjoint(words):
                    break
            else:
                return True
        return False


@lru_cache(maxsize=4)  # several trackers read the same text one after the other
def _words(text: str) -> list[bytes]:
    return text.encode("utf-8", "surrogatepass").translate(_LOWER).split()


def sentences_with(pattern: AnyCasePattern, signs: Iterable[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each sentence in which a pattern matches, each once, in order.

    Only lines that contain one of the signs, which are in lower case, are searched: finding a substring is
    cheap.
    """
    done = 0
    is_foreign_at = Foreign(text).holds
    compiled, searched = pattern.applied_to(text)
    lower = searched if searched is not text else in_lower_case(text)
    for line_start, line_end in _lines_with(signs, lower):
        for match in compiled.finditer(searched, line_start, line_end):
            if match.start() < done or is_foreign_at(match.start()):
                continue
            start, end = sentence_around(text, match.start(), match.end(), after=done)
            if end - start <= LONGEST_SENTENCE:
                yield start, end
            done = end


def in_lower_case(text: str) -> str:
    """Return a text of the same length in lower case."""
    return text.replace("İ", "i").lower()  # the one character that becomes two


def _lines_with(signs: Iterable[str], text: str) -> list[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for sign in [sign for sign in signs if sign in text]:
        at = text.find(sign)
        while at >= 0:
            end = text.find("\n", at)
            end = end if end >= 0 else len(text)
            found.add((text.rfind("\n", 0, at) + 1, end))
            at = text.find(sign, end)
    return sorted(found)


def sentence_around(text: str, start: int, end: int, after: int = 0) -> tuple[int, int]:
    """Return the bounds of the sentence around a span, without list markers and white space.

    ``after`` is the known end of an earlier sentence: text before it is not searched again.
    """
    line = text.rfind("\n", after, start) + 1
    marker = _MARKER.match(text, line, start) if line or not after else None
    begin = marker.end() if marker else line or after
    for stop in _END.finditer(text, begin, start):
        if not _is_abbreviated(text, stop.start()):
            begin = stop.end()
            while begin < start and text[begin] in _CLOSERS:
                begin += 1
    finish = len(text)
    for stop in _END.finditer(text, max(end - 1, start)):
        if not _is_abbreviated(text, stop.start()):
            finish = stop.start() if stop[0] == "\n" else stop.end()
            break
    while finish < len(text) and text[finish] in _CLOSERS:
        finish += 1
    return _trim(text, begin, finish)


def _trim(text: str, begin: int, end: int) -> tuple[int, int]:
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    return begin, end


def _is_abbreviated(text: str, stop: int) -> bool:
    return text[stop] == "." and _ABBREVIATION.search(text, max(0, stop - 8), stop) is not None


def is_foreign(text: str, at: int) -> bool:
    """Return True if the text at this position is code, a quotation or a table."""
    return Foreign(text).holds(at)


class Foreign:
    """Whether positions of a text are code, quotation or table; queried in order, it reads the text once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._fences = 0
        self._line = self._ticks = 0

    def holds(self, at: int) -> bool:
        """Return True if this position is foreign; positions must be queried in ascending order."""
        text = self._text
        self._fences += text.count("```", self._at, at)
        line = text.rfind("\n", self._at, at) + 1
        if line:
            self._line, self._ticks = line, text.count("`", line, at)
        else:
            self._ticks += text.count("`", self._at, at)
        self._at = at
        if self._fences % 2 or self._ticks % 2:
            return True
        return _FOREIGN_LINE.match(text, self._line) is not None
