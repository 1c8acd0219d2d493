"""The lines of a passage, and the position to cite for a value in them."""

from __future__ import annotations

import json
import re
from typing import TypeAlias

from clew.ledger.passages import ERROR_SIGNS, RESULT, Passage

Place: TypeAlias = tuple[str, int, int, int]
"""Message id, part, start, end: a ``Cite`` that has not been built yet."""

LONG_LINE = 240
"""Characters above which a piece of a line is cited instead of the whole; chosen by hand."""
_LINE_NUMBER = re.compile(r"\s*\d+[→\t│:]")


class Lines:
    """Walks through a passage from value to value and tracks the current line."""

    __slots__ = (
        "_counted",
        "_line_number",
        "_raw_lines",
        "_start",
        "end",
        "failed",
        "message",
        "passage",
        "place",
        "words",
    )

    def __init__(self, message: str, passage: Passage, failed: bool) -> None:
        self.message = message
        self.passage = passage
        self.failed = failed
        self._start = self.end = -1
        self.place: Place | None = None
        """Of the whole line; None if the text around each value must be cited instead."""
        self.words = -1
        """Number of plain words in the cited text; negative until counted."""
        self._raw_lines = _raw_lines(passage) if passage.raw is not None else []
        self._line_number = self._counted = 0

    def move(self, at: int) -> None:
        """Go to the line at this position."""
        passage = self.passage
        text = passage.text
        self._start = start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        self.end = end = end if end >= 0 else len(text)
        self.words = -1
        if self._raw_lines or end - start > LONG_LINE:
            self.place = None
        else:
            self.place = (self.message, passage.part, passage.start + start, passage.start + end)

    def count_words(self) -> int:
        """Count the plain words of the line."""
        self.words = _plain_words(self.passage.text[self._start : self.end])
        return self.words

    def speaks_of_failure(self) -> bool:
        """Return True if the line of a failed result is its first, or contains an error word."""
        find = self.passage.text.find
        return self._start == 0 or any(find(sign, self._start, self.end) >= 0 for sign in ERROR_SIGNS)

    def is_line_number(self, at: int) -> bool:
        """Return True if the number at this position is one that a tool printed before its line."""
        text = self.passage.text
        return (
            self.passage.voice is RESULT
            and not text[self._start : at].strip()
            and _LINE_NUMBER.match(text, self._start) is not None
        )

    def place_of(self, value: str, at: int) -> Place:
        """Return the position to cite for a value: a piece of a long line, the raw line of escaped text."""
        said, start, end = self.passage.text, self._start, self.end
        if self._raw_lines:
            said = self.passage.raw or ""
            start, end = self._raw_line()
            at = said.find(value, start, end)
            if at < 0:  # the value itself is escaped
                at = said.find(json.dumps(value, ensure_ascii=False)[1:-1], start, end)
        if end - start > LONG_LINE and at >= 0:
            start, end = _around(said, at, at + len(value), start, end)
        self.words = _plain_words(said[start:end])
        base = self.passage.start
        return (self.message, self.passage.part, base + start, base + end)

    def _raw_line(self) -> tuple[int, int]:
        if self._start < self._counted:
            self._line_number = self._counted = 0
        self._line_number += self.passage.text.count("\n", self._counted, self._start)
        self._counted = self._start
        return self._raw_lines[min(self._line_number, len(self._raw_lines) - 1)]


def _raw_lines(passage: Passage) -> list[tuple[int, int]]:
    """Return the position of each line of an escaped text in its escaped form; one span if ambiguous."""
    if passage.raw is None:
        return []
    lines: list[tuple[int, int]] = []
    start = 0
    for line in passage.raw.split("\\n"):
        lines.append((start, start + len(line)))
        start += len(line) + 2
    # An escaped backslash before an n looks like a line end; then the line counts differ.
    return lines if len(lines) == passage.text.count("\n") + 1 else [(0, len(passage.raw))]


def _around(text: str, start: int, end: int, low: int, high: int) -> tuple[int, int]:
    """Return the sentence around a value, or as much of a long line as may be cited, cut between words."""
    room = max(LONG_LINE - (end - start), 40) // 2
    left, right = max(low, start - room), min(high, end + room)
    if left > low:
        stop = text.rfind(". ", left, start)
        space = stop + 1 if stop >= 0 else text.find(" ", left, start)
        left = space + 1 if space >= 0 else left
    if right < high:
        stop = text.find(". ", end, right)
        space = stop + 1 if stop >= 0 else text.rfind(" ", end, right)
        right = space if space >= 0 else right
    return left, right


def _plain_words(text: str) -> int:
    return sum(map(str.isalpha, text.split()))
