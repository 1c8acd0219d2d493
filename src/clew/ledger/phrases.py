"""From a match to the sentence it stands in, as long as that is speech and not code or a quotation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

LONGEST_SENTENCE = 600
_END = re.compile(r"[.!?…](?=[\"'”’)*_`]*(?:\s|$))|[。！？]|\n")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|fig)$", re.IGNORECASE)
_MARKER = re.compile(r"\s*(?:[-*+•]\s+|\d{1,2}[.)]\s+|#{1,6}\s+)?(?:\[[ xX]\]\s+)?(?:\*\*|__)?")
_FOREIGN_LINE = re.compile(r"[ \t]*(?:>|\||//|/\*|\$ |@@|<\w)|\t| {8,}")
_CLOSERS = "\"'”’)*_`"
_LOWER = bytes(ord(chr(n).lower()) if n < 128 and chr(n).isalpha() else ord(" ") for n in range(256))
"""Makes letters small and all else white space, digits and other scripts too."""


class Phrases:
    """Phrases by the words that each needs: a quick way to pass over texts that can hold none of them."""

    def __init__(self, *phrases: tuple[str, ...]) -> None:
        """Take for each phrase sets of words of which it has at least one each, the rarest set first.

        The words of a set are parted by spaces, in lower case and in ASCII.
        """
        self._needs = [[frozenset(one_of.encode().split()) for one_of in phrase] for phrase in phrases]
        self._anchors = frozenset(word for first, *_ in self._needs for word in first)

    def may_stand_in(self, text: str) -> bool:
        """Tell whether a text has all the words that one of the phrases needs."""
        words = _words(text)
        if self._anchors.isdisjoint(words):
            return False
        return any(not any(one_of.isdisjoint(words) for one_of in phrase) for phrase in self._needs)


@lru_cache(maxsize=4)  # several keepers ask about the same text, one after the other
def _words(text: str) -> list[bytes]:
    return text.encode("utf-8", "surrogatepass").translate(_LOWER).split()


def sentences_with(pattern: re.Pattern[str], signs: Iterable[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence that a pattern finds begins and ends, each once, in order.

    Only lines that hold one of the signs are looked at: finding a plain string costs next to nothing.
    """
    done = 0
    for line_start, line_end in _lines_with(signs, text):
        for match in pattern.finditer(text, line_start, line_end):
            if match.start() < done or is_foreign(text, match.start()):
                continue
            start, end = sentence_around(text, match.start(), match.end())
            if end - start <= LONGEST_SENTENCE:
                yield start, end
            done = end


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


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of the sentence that holds this piece, without list markers and white space."""
    line = text.rfind("\n", 0, start) + 1
    marker = _MARKER.match(text, line, start)
    begin = marker.end() if marker else line
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
    return _trimmed(text, begin, finish)


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    return begin, end


def _is_abbreviated(text: str, stop: int) -> bool:
    return text[stop] == "." and _ABBREVIATION.search(text, max(0, stop - 8), stop) is not None


def is_foreign(text: str, at: int) -> bool:
    """Tell whether what stands here is code, a quotation or a table."""
    if text.count("```", 0, at) % 2:
        return True
    line = text.rfind("\n", 0, at) + 1
    return bool(_FOREIGN_LINE.match(text, line)) or text.count("`", line, at) % 2 == 1
