"""Exact values: which ones messages name, who named them, how often, and in which message first and last.

``values_of(items)`` reads messages and returns ``Values``: the value ``src/app.py`` with its kind and counts.
They are collected when a report or an explanation needs them, not as messages arrive; at most ``MOST_VALUES``
are kept. Above that, values that only tool output named, once, longest ago, are dropped first; values that
the user or the model named last.

``passages(message)`` yields the texts of its parts that are searched, each with who speaks (``Voice``). Of
one over ``WHOLE`` characters the first ``HEAD`` and last ``TAIL`` are read, and up to ``ERROR_LINES`` lines
between them that mention an error: so a 50 MB output costs little more than a 200 kB one.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from clew.ledger.exchange import OpenCalls, Reading
from clew.ledger.kinds import KNOWN_WORDS, Known, ValueKind, may_hold_values, values_in
from clew.message import Item, Message, Origin, Part, Role, Text, Thinking, ToolCall, ToolResult, Trust
from clew.message.parts import json_strings
from clew.message.text import lazy_pattern

MOST_VALUES = 60_000
"""Values kept; chosen by hand."""
_KEPT_WHEN_FULL = 45_000
"""How many are left when they are dropped, so that dropping is rare. Chosen by hand."""
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
_ERROR_SIGNS = ("rror", "ERROR", "FAIL", "Traceback", "panic", "fatal", "xception")
"""Substrings of lines about errors; plain strings, because substring search is fast."""
_LINE_NUMBER = lazy_pattern(r"\s*\d+[→\t│:]")
"""A line number that a tool prints: "  12→"."""
_NUMBER = ValueKind.NUMBER
"""A module-level name, because enum attribute access is slow."""
RECALL_TOOLS = frozenset({"recall_search", "recall_open", "artifact_open", "notes_search"})
"""clew's own recall tools, whose results repeat text from elsewhere."""


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
_USER, _ASSISTANT, _CALL, _BODY, _RESULT, _MACHINE, _SYSTEM = Voice
_OF_MODEL, _OF_SYSTEM, _OF_DEVELOPER = Role.ASSISTANT, Role.SYSTEM, Role.DEVELOPER
_SPOKEN = Origin.SPOKEN
_ONCE = {voice: tuple(int(one is voice) for one in Voice) for voice in Voice}
"""The counts of a value that one voice named once, shared by most values."""


class Value:
    """An exact value and its statistics. Read-only; only ``Values`` writes to it."""

    __slots__ = ("_counts", "first_message", "kind", "last_index", "last_message", "text")

    def __init__(self, known: Known, index: int, message: str, counts: tuple[int, ...]) -> None:
        self.kind, self.text = known
        self.last_index = index
        """Index in the session of the last message that named it, from 0."""
        self.first_message = self.last_message = message
        """The ids of the first and the last message that named it."""
        self._counts = counts

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the number of texts that named it, by ``Voice``."""
        return self._counts

    @property
    def mentions(self) -> int:
        """Return how many texts name it."""
        return sum(self._counts)

    @property
    def in_user_text(self) -> bool:
        """Whether the user named it."""
        return self._counts[Voice.USER] > 0

    @property
    def in_call_arguments(self) -> bool:
        """Whether the model typed it into a call; the content of files does not count."""
        return self._counts[Voice.CALL] > 0

    def __repr__(self) -> str:
        return f"Value({self.text!r}, {self.kind.value}, counts={self.counts})"


class Values:
    """The values of messages, iterated in order of first appearance."""

    def __init__(self) -> None:
        self._held: dict[str, Value] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._held.values())

    def __contains__(self, text: str) -> bool:
        return text in self._held

    def get(self, text: str) -> Value | None:
        """Return what is known about a value."""
        return self._held.get(text)

    def add(self, item: Item, index: int, recalled: Container[int] = ()) -> None:
        """Add the values that a message names; parts ``recalled`` only repeat text from elsewhere."""
        if all(map(_is_plain, item.message.parts)):
            return
        for passage in passages(item.message):
            if passage.part in recalled:
                continue
            words, marked = values_in(passage.text, spoken=passage.voice <= _ASSISTANT)
            for known in itertools.chain(_of_words(words, passage), dict.fromkeys(one for one, _ in marked)):
                self._note(known, item.id, index, passage.voice)
        if len(self._held) > MOST_VALUES:
            self._forget()

    def _note(self, known: Known, message: str, index: int, voice: Voice) -> None:
        """Count a value that a passage names."""
        value = self._held.get(known.value)
        if value is None:
            self._held[known.value] = Value(known, index, message, _ONCE[voice])
            return
        value.last_index, value.last_message = index, message
        counts = value._counts
        value._counts = (*counts[:voice], counts[voice] + 1, *counts[voice + 1 :])

    def _forget(self) -> None:
        """Drop the values that are least likely to be needed."""

        def worth(value: Value) -> tuple[bool, bool, int]:
            return any(value.counts[:_BODY]), value.mentions > 1, value.last_index

        kept_values = sorted(self._held.values(), key=worth, reverse=True)[:_KEPT_WHEN_FULL]
        stays = {value.text for value in kept_values}
        self._held = {text: value for text, value in self._held.items() if text in stays}


def values_of(items: Iterable[Item]) -> Values:
    """Return the values that messages name; results of clew's own recall tools name none."""
    calls, values = OpenCalls(), Values()
    for number, item in enumerate(items):
        values.add(item, number, _recall_parts(calls.read(item, number)))
    return values


def _recall_parts(reading: Reading) -> set[int]:
    """Return the parts of a message that call clew's own recall tools, or hold their results."""
    asked = {part.cite.part for part in reading.calls if part.call.name in RECALL_TOOLS}
    return asked | {part.answered.part for part in reading.exchanges if part.call.name in RECALL_TOOLS}


def _is_plain(part: Part) -> bool:
    """Return True if a part is a text whose words show that it contains no value."""
    return isinstance(part, Text) and len(part.text) <= WHOLE and not may_hold_values(part.text)


def _of_words(words: Iterable[str], passage: MessagePassage) -> Iterator[Known]:
    """Yield the values among the words of a passage; not numbers that a tool printed before its lines."""
    at = 0
    for word in words:
        # Words come in the order of their first appearance, so the search never goes back.
        at = passage.text.find(word, at)
        known = KNOWN_WORDS[word]  # as classify(word), 20 ns faster
        if known is not None and not (known.kind is _NUMBER and _is_line_number(passage, at)):
            yield known


def _is_line_number(passage: MessagePassage, at: int) -> bool:
    """Return True if the number at this position is one that a tool printed before its line."""
    if passage.voice is not _RESULT:
        return False
    start = passage.text.rfind("\n", 0, at) + 1
    return not passage.text[start:at].strip() and _LINE_NUMBER.match(passage.text, start) is not None


# What is read of a message -----------------------------------------------------------------------------


class MessagePassage(NamedTuple):
    """A piece of text to search."""

    voice: Voice
    part: int
    text: str


def passages(message: Message) -> Iterator[MessagePassage]:
    """Yield the pieces of a message that are searched, in order."""
    for index, part in enumerate(message.parts):
        if isinstance(part, ToolCall):
            for text in [part.input_text] if part.input is None else filter(None, json_strings(part.input)):
                voice = _CALL if len(text) <= SHORT_ARGUMENT else _BODY
                yield from _pieces(MessagePassage(voice, index, text))
        elif isinstance(part, _WITH_TEXT) and (text := part.text):
            yield from _pieces(MessagePassage(_voice(message, part), index, text))


def _voice(message: Message, part: Part) -> Voice:
    if isinstance(part, ToolResult):
        return _RESULT
    role = message.role
    if role is _OF_SYSTEM or role is _OF_DEVELOPER:
        return _SYSTEM
    if message.origin is not _SPOKEN:
        return _MACHINE
    if role is _OF_MODEL:
        return _ASSISTANT
    return _USER if part.trust >= Trust.USER else _MACHINE


def _pieces(whole: MessagePassage) -> Iterator[MessagePassage]:
    """Yield a passage; of a long one the beginning, the end, and between them the lines about errors.

    They are cut at a line break, if there is one near enough.
    """
    text = whole.text
    if len(text) <= WHOLE:
        yield whole
        return
    head = text.rfind("\n", HEAD // 2, HEAD) + 1 or HEAD
    tail = text.find("\n", len(text) - TAIL - 1, len(text) - TAIL // 2) + 1 or len(text) - TAIL
    errors = itertools.islice(_error_lines(text, head, tail), ERROR_LINES)
    for piece in (text[:head], *errors, text[tail:]):
        yield whole._replace(text=piece)


def _error_lines(text: str, start: int, stop: int) -> Iterator[str]:
    """Yield the lines between two positions that mention an error, in order."""
    nearest = {sign: text.find(sign, start, stop) for sign in _ERROR_SIGNS}
    while True:
        nearest = {sign: at for sign, at in nearest.items() if at >= 0}
        if not nearest:
            return
        at = min(nearest.values())
        begin = max(text.rfind("\n", start, at) + 1, at - _LONGEST_LINE // 2, start)
        end = text.find("\n", at, stop)
        end = min(end if end >= 0 else stop, begin + _LONGEST_LINE)
        yield text[begin:end]
        nearest = {
            sign: place if place >= end else text.find(sign, end, stop) for sign, place in nearest.items()
        }
