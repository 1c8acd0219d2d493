"""Which pieces of a message are searched for values, and the position to cite for a value in them.

``passages(message)`` yields the texts of its parts, each with who speaks (``Voice``); ``LineCursor`` then
walks through one of them from value to value. A part of up to ``WHOLE`` characters is read whole. Of a
longer one the first ``HEAD`` and last ``TAIL`` characters are read, and up to ``ERROR_LINES`` lines between
them that mention an error: so a 50 MB output costs little more than a 200 kB one. ``values`` is the only
user.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from clew.message import Message, Origin, Part, Role, Text, Thinking, ToolCall, ToolResult, Trust
from clew.message.parts import json_strings
from clew.message.patterns import lazy_pattern

WHOLE = 200_000
HEAD = 120_000
TAIL = 60_000
ERROR_LINES = 200
"""Limits in characters and lines, explained above; chosen by hand."""
SHORT_ARGUMENT = 300
"""Characters up to which an argument counts as typed by the model; longer ones are bodies: files, patches."""
_LONGEST_LINE = 1_000
"""Characters of a line about an error that are read; chosen by hand."""
_WITH_TEXT = (Text, ToolResult, Thinking)
"""Kinds of parts with a text."""
_ESCAPED = lazy_pattern(r"[\x00-\x1f\"\\]")
"""Characters that JSON escapes."""

ERROR_SIGNS = ("rror", "ERROR", "FAIL", "Traceback", "panic", "fatal", "xception")
"""Substrings of lines about errors; plain strings, because substring search is fast."""


class Voice(IntEnum):
    """Who names a value, and how; an index into a value's counts."""

    USER = 0
    ASSISTANT = 1
    """The model's text and thinking."""
    CALL = 2
    """A short argument of a call."""
    BODY = 3
    """A long argument: the content of files."""
    RESULT = 4
    MACHINE = 5
    """Text of a harness or a summariser, in any role."""
    SYSTEM = 6
    """Instructions of the system or the developer."""


# Module-level names: they are used for every message, and enum attribute access is slow.
USER, ASSISTANT, _, _, RESULT, MACHINE, SYSTEM = Voice
_OF_MODEL, _OF_SYSTEM, _OF_DEVELOPER = Role.ASSISTANT, Role.SYSTEM, Role.DEVELOPER
_SPOKEN = Origin.SPOKEN


class MessagePassage(NamedTuple):
    """A piece of text to search, and its position in the text of its part."""

    voice: Voice
    part: int
    text: str
    start: int = 0
    raw: str | None = None
    """The same text as escaped in the call's JSON; None if it is not escaped."""


def passages(message: Message) -> Iterator[MessagePassage]:
    """Yield the pieces of a message that are searched, in order."""
    for index, part in enumerate(message.parts):
        if isinstance(part, ToolCall):
            yield from _arguments(part, index)
        elif isinstance(part, _WITH_TEXT) and (text := part.text):
            whole_passage = MessagePassage(_voice(message, part), index, text)
            if len(text) <= WHOLE:
                yield whole_passage
            else:
                yield from _ends(whole_passage)


def _voice(message: Message, part: Part) -> Voice:
    if isinstance(part, ToolResult):
        return RESULT
    role = message.role
    if role is _OF_SYSTEM or role is _OF_DEVELOPER:
        return SYSTEM
    if message.origin is not _SPOKEN:
        return MACHINE
    if role is _OF_MODEL:
        return ASSISTANT
    return USER if part.trust >= Trust.USER else MACHINE


def _pieces(whole_passage: MessagePassage) -> Iterable[MessagePassage]:
    return (whole_passage,) if len(whole_passage.text) <= WHOLE else _ends(whole_passage)


def _ends(whole_passage: MessagePassage) -> Iterator[MessagePassage]:
    """Yield the beginning and the end of a long passage, and between them the lines about errors.

    They are cut at a line break, if there is one near enough.
    """
    text = whole_passage.text
    head = text.rfind("\n", HEAD // 2, HEAD) + 1 or HEAD
    tail = text.find("\n", len(text) - TAIL - 1, len(text) - TAIL // 2) + 1 or len(text) - TAIL
    yield whole_passage._replace(text=text[:head])
    for start, end in itertools.islice(_error_lines(text, head, tail), ERROR_LINES):
        yield whole_passage._replace(text=text[start:end], start=start)
    yield whole_passage._replace(text=text[tail:], start=tail)


def _error_lines(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the lines between two positions that mention an error, in order."""
    nearest = {sign: text.find(sign, start, stop) for sign in ERROR_SIGNS}
    while True:
        nearest = {sign: at for sign, at in nearest.items() if at >= 0}
        if not nearest:
            return
        at = min(nearest.values())
        begin = max(text.rfind("\n", start, at) + 1, at - _LONGEST_LINE // 2, start)
        end = text.find("\n", at, stop)
        end = min(end if end >= 0 else stop, begin + _LONGEST_LINE)
        yield begin, end
        nearest = {
            sign: place if place >= end else text.find(sign, end, stop) for sign, place in nearest.items()
        }


def _arguments(call: ToolCall, index: int) -> Iterator[MessagePassage]:
    """Yield each string in a call's arguments; positions count in its JSON, as citations do."""
    json_text = call.input_text
    arguments = call.input
    if arguments is None:
        voice = Voice.CALL if len(json_text) <= SHORT_ARGUMENT else Voice.BODY
        yield from _pieces(MessagePassage(voice, index, json_text))
        return
    at = 0
    for leaf in filter(None, json_strings(arguments)):
        raw = json.dumps(leaf, ensure_ascii=False)[1:-1] if _ESCAPED.search(leaf) else leaf
        start = json_text.find(raw, at)
        if start < 0:  # escaped differently than by json.dumps: without an exact position to cite
            continue
        at = start + len(raw)
        voice = Voice.CALL if len(leaf) <= SHORT_ARGUMENT else Voice.BODY
        if raw is leaf:
            yield from _pieces(MessagePassage(voice, index, leaf, start))
        else:
            yield MessagePassage(voice, index, leaf[:WHOLE], start, raw)


Place: TypeAlias = tuple[str, int, int, int]
"""Message id, part, start, end: a ``Cite`` that has not been built yet."""

LONG_LINE = 240
"""Characters above which a piece of a line is cited instead of the whole; chosen by hand."""
_LINE_NUMBER = lazy_pattern(r"\s*\d+[→\t│:]")
"""A line number that a tool prints: "  12→"."""


class LineCursor:
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

    def __init__(self, message: str, passage: MessagePassage, failed: bool) -> None:
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
        is_first = self.passage.start + self._start == 0
        return is_first or any(find(sign, self._start, self.end) >= 0 for sign in ERROR_SIGNS)

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
        text, start, end = self.passage.text, self._start, self.end
        if self._raw_lines:
            text = self.passage.raw or ""
            start, end = self._raw_line()
            at = text.find(value, start, end)
            if at < 0:  # the value itself is escaped
                at = text.find(json.dumps(value, ensure_ascii=False)[1:-1], start, end)
        if end - start > LONG_LINE and at >= 0:
            start, end = _around(text, at, at + len(value), start, end)
        self.words = _plain_words(text[start:end])
        base = self.passage.start
        return (self.message, self.passage.part, base + start, base + end)

    def _raw_line(self) -> tuple[int, int]:
        if self._start < self._counted:
            self._line_number = self._counted = 0
        self._line_number += self.passage.text.count("\n", self._counted, self._start)
        self._counted = self._start
        return self._raw_lines[min(self._line_number, len(self._raw_lines) - 1)]


def _raw_lines(passage: MessagePassage) -> list[tuple[int, int]]:
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
