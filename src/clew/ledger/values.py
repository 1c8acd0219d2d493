"""Exact values: who named them, how often, first and last position, and the most informative line.

They are collected from messages when somebody asks for them. Only positions are stored, never copies; at most
``MOST_VALUES`` values are kept. Above that, values that only tool output named, once, longest ago, are
dropped first; values that the user or the model named are dropped last.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from clew.ledger.exchange import OpenCalls, Reading
from clew.ledger.kinds import KNOWN_WORDS, Known, ValueKind, may_hold_values, values_in
from clew.ledger.outcome import Ended
from clew.ledger.passages import ASSISTANT, WHOLE, LineCursor, Place, Voice, passages
from clew.message import Cite, Item, Part, Text

MOST_VALUES = 60_000
_KEPT_WHEN_FULL = 45_000
_ENOUGH_WORDS = 8
_WORTH_OF_A_WORD = 1_000
_WORTH_OF_PROSE = 1_500
"""Bonus for the user's or model's words over a line of output with a word or two more. Chosen by hand."""
_NUMBER = ValueKind.NUMBER
_SPOKEN = slice(Voice.USER, Voice.BODY)
"""Counts by the user, the model's text and its calls; a slice, because it is read for every value."""
_ONCE = {voice: tuple(int(one is voice) for one in Voice) for voice in Voice}
"""The counts of a value that one voice named once, shared by most values."""


def _is_plain(part: Part) -> bool:
    """Return True if a part is a text whose words show that it contains no value."""
    return isinstance(part, Text) and len(part.text) <= WHOLE and not may_hold_values(part.text)


class Value:
    """An exact value and its statistics. Read-only; only ``Values`` writes to it."""

    __slots__ = (
        "_best_line",
        "_counts",
        "_first",
        "_last",
        "_score",
        "first_index",
        "in_error",
        "kind",
        "last_index",
        "text",
    )

    def __init__(self, known: Known, index: int, place: Place, counts: tuple[int, ...]) -> None:
        self.kind, self.text = known
        self.first_index = self.last_index = index
        """Index in the session of the first and last message that named it, from 0."""
        self.in_error = False
        """An error line names it."""
        self._counts = counts
        self._first = self._last = self._best_line = place
        self._score = 0

    @property
    def counts(self) -> tuple[int, ...]:
        """Return the number of texts that named it, by ``Voice``."""
        return self._counts

    @property
    def mentions(self) -> int:
        """Return how many texts name it."""
        return sum(self._counts)

    @property
    def is_spoken(self) -> bool:
        """Whether the user or the model named it, or the model typed it into a call."""
        user, assistant, call = self._counts[_SPOKEN]
        return bool(user or assistant or call)

    @property
    def in_user_text(self) -> bool:
        """Whether the user named it."""
        return self._counts[Voice.USER] > 0

    @property
    def in_call_arguments(self) -> bool:
        """Whether the model typed it into a call; the content of files does not count."""
        return self._counts[Voice.CALL] > 0

    @property
    def first(self) -> Cite:
        """Return the line that named it first."""
        return Cite(*self._first)

    @property
    def last(self) -> Cite:
        """Return the line that named it last."""
        return Cite(*self._last)

    @property
    def first_message(self) -> str:
        """Return the id of the message that named it first."""
        return self._first[0]

    @property
    def last_message(self) -> str:
        """Return the id of the message that named it last."""
        return self._last[0]

    @property
    def best_line(self) -> Cite:
        """Return the most informative line: many plain words, short, preferably prose."""
        return Cite(*self._best_line)

    def __repr__(self) -> str:
        return f"Value({self.text!r}, {self.kind.value}, counts={self.counts})"


RECALL_TOOLS = frozenset({"recall_search", "recall_open", "artifact_open", "notes_search"})
"""clew's own recall tools, whose results repeat text from elsewhere."""


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

    def add(self, item: Item, index: int, failed: Container[int] = (), recalled: Container[int] = ()) -> None:
        """Add the values that a message names.

        ``failed`` are its parts that report a failure, ``recalled`` those that only repeat text from
        elsewhere.
        """
        if all(map(_is_plain, item.message.parts)):
            return
        for passage in passages(item.message):
            if passage.part in recalled:
                continue
            words, marked = values_in(passage.text, spoken=passage.voice <= ASSISTANT)
            if words or marked:
                lines = LineCursor(item.id, passage, passage.part in failed)
                self._note_words(words, lines, index)
                self._note_marked(marked, lines, index)
        if len(self._held) > MOST_VALUES:
            self._forget()

    def _note_words(self, words: Iterable[str], lines: LineCursor, index: int) -> None:
        text = lines.passage.text
        at = 0
        for word in words:
            # Words come in the order of their first appearance, so the search never goes back.
            at = text.find(word, at)
            if at >= lines.end:
                lines.move(at)
            known = KNOWN_WORDS[word]  # as classify(word), 20 ns faster
            if known is not None and not (known[0] is _NUMBER and lines.is_line_number(at)):
                self._note(known, at, lines, index)

    def _note_marked(self, marked: Iterable[tuple[Known, int]], lines: LineCursor, index: int) -> None:
        spotted: set[str] = set()
        for known, at in marked:
            if known.value not in spotted:
                spotted.add(known.value)
                lines.move(at)
                self._note(known, at, lines, index)

    def _note(self, known: Known, at: int, lines: LineCursor, index: int) -> None:
        """Count a value at a position of the cursor's passage; the cursor must be on the line of ``at``."""
        text = known[1]
        voice = lines.passage.voice
        place = lines.place or lines.place_of(text, at)
        value = self._held.get(text)
        if value is None:
            value = self._held[text] = Value(known, index, place, _ONCE[voice])
            value._score = _worth(lines, place)
        else:
            value.last_index, value._last = index, place
            counts = value._counts
            value._counts = (*counts[:voice], counts[voice] + 1, *counts[voice + 1 :])
            if _most_worth(voice, place) > value._score and (score := _worth(lines, place)) > value._score:
                value._score, value._best_line = score, place
        if lines.failed and not value.in_error and lines.speaks_of_failure():
            value.in_error = True

    def _forget(self) -> None:
        """Drop the values that are least likely to be needed."""

        def worth(value: Value) -> tuple[bool, bool, int]:
            return value.is_spoken, value.mentions > 1, value.last_index

        kept_values = sorted(self._held.values(), key=worth, reverse=True)[:_KEPT_WHEN_FULL]
        stays = {value.text for value in kept_values}
        self._held = {text: value for text, value in self._held.items() if text in stays}


def values_of(items: Iterable[Item]) -> Values:
    """Return the values that messages name; results of clew's own recall tools name none."""
    calls, values = OpenCalls(), Values()
    for number, item in enumerate(items):
        reading = calls.read(item, number)
        failed = {
            exchange.answered.part for exchange in reading.exchanges if exchange.outcome.ended is Ended.FAILED
        }
        values.add(item, number, failed, _recall_parts(reading))
    return values


def _recall_parts(reading: Reading) -> set[int]:
    """Return the parts of a message that call clew's own recall tools, or hold their results."""
    asked = {part.cite.part for part in reading.calls if part.call.name in RECALL_TOOLS}
    return asked | {part.answered.part for part in reading.exchanges if part.call.name in RECALL_TOOLS}


def _most_worth(voice: Voice, place: Place) -> int:
    """Return the upper bound of ``_worth``: longer lines are worth less."""
    prose = _WORTH_OF_PROSE if voice <= ASSISTANT else 0
    return prose + _ENOUGH_WORDS * _WORTH_OF_A_WORD + place[2] - place[3]


def _worth(lines: LineCursor, place: Place) -> int:
    """Return how informative a line is about its values."""
    words = lines.words if lines.words >= 0 else lines.count_words()
    missing = max(0, _ENOUGH_WORDS - words)
    return _most_worth(lines.passage.voice, place) - missing * _WORTH_OF_A_WORD
