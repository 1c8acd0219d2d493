"""What must not be split, and where a history may be cut.

An atom is a run of messages that providers refuse to see apart: a tool call with all its parallel
results, an approval request with its answer, a reasoning item with the item it led to, and in the tool
loop that is still running, every step back to the last signed thinking. Everything here is linear in
the number of parts.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from clew.message.message import Message, Origin, Role
from clew.message.parts import ApprovalAnswer, ApprovalRequest, Part, Text, Thinking, ToolCall, ToolResult


class Place(NamedTuple):
    """A part's address: the index of its message, and its own index in there."""

    message: int
    part: int


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which result answers which call (or which answer an approval), and what is left over."""

    answers: dict[Place, Place] = field(default_factory=dict)
    """From each result to its call."""
    dangling: list[Place] = field(default_factory=list)
    """Calls and approval requests that nothing answers, in order."""
    orphans: list[Place] = field(default_factory=list)
    """Results and approval answers that answer nothing, in order."""


class _Open:
    """The unanswered calls of one id: nearest message first, and within a message in order."""

    __slots__ = ("_by_message",)

    def __init__(self) -> None:
        self._by_message: list[deque[Place]] = []

    def add(self, place: Place) -> None:
        if self._by_message and self._by_message[-1][0].message == place.message:
            self._by_message[-1].append(place)
        else:
            self._by_message.append(deque([place]))

    def take(self) -> Place | None:
        if not self._by_message:
            return None
        nearest = self._by_message[-1]
        place = nearest.popleft()
        if not nearest:
            self._by_message.pop()
        return place

    def left(self) -> Iterator[Place]:
        for places in self._by_message:
            yield from places


def pair(messages: Sequence[Message]) -> Pairing:
    """Pair each result with the nearest earlier unanswered call of its id.

    Ids are only as unique as the model that made them: real sessions reuse one for several calls.
    """
    calls: defaultdict[str, _Open] = defaultdict(_Open)
    requests: defaultdict[str, _Open] = defaultdict(_Open)
    pairing = Pairing()
    for i, message in enumerate(messages):
        for j, part in enumerate(message.parts):
            if isinstance(part, Text):
                continue  # most parts are, and need not be held against the others
            if isinstance(part, ToolCall):
                calls[part.call_id].add(Place(i, j))
            elif isinstance(part, ToolResult):
                _answer(pairing, calls[part.call_id], Place(i, j))
            elif isinstance(part, ApprovalRequest):
                requests[part.approval_id].add(Place(i, j))
            elif isinstance(part, ApprovalAnswer):
                _answer(pairing, requests[part.approval_id], Place(i, j))
    waiting = itertools.chain(calls.values(), requests.values())
    pairing.dangling.extend(sorted(place for one in waiting for place in one.left()))
    return pairing


def _answer(pairing: Pairing, calls: _Open, place: Place) -> None:
    call = calls.take()
    if call is None:
        pairing.orphans.append(place)
    else:
        pairing.answers[place] = call


def atoms(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Return the history as consecutive atoms ``(start, stop)``; together they cover every message once."""
    points = cut_points(messages)
    return list(itertools.pairwise(points))


def cut_points(messages: Sequence[Message]) -> list[int]:
    """Return every index where the history may be cut, from 0 to its length, both included."""
    glued = bytearray(len(messages) + 1)  # glued[i]: no cut between message i-1 and message i
    furthest: dict[int, int] = {}
    for result, call in pair(messages).answers.items():
        if result.message > furthest.get(call.message, call.message):
            furthest[call.message] = result.message
    reach = 0
    for first in sorted(furthest):
        begin, last = max(first, reach), furthest[first]
        if last > begin:
            glued[begin + 1 : last + 1] = b"\1" * (last - begin)
            reach = last
    for i in _after_reasoning(messages):
        glued[i] = 1
    for i in _inside_running_loop(messages):
        glued[i] = 1
    return [i for i in range(len(messages) + 1) if not glued[i]]


def _after_reasoning(messages: Sequence[Message]) -> Iterator[int]:
    """Yield where a signed reasoning item ends one message and what it led to begins the next."""
    for i, message in enumerate(messages[:-1], start=1):
        parts = message.parts
        if not parts or not isinstance(parts[0], Thinking):
            continue  # told at once of nearly every message
        if messages[i].role is Role.ASSISTANT and all(map(_is_signed_thinking, parts)):
            yield i


def _is_signed_thinking(part: Part) -> bool:
    return isinstance(part, Thinking) and part.signed


def _inside_running_loop(messages: Sequence[Message]) -> Iterator[int]:
    """Yield the boundaries of the running tool loop that would part a step from its signed thinking.

    With thinking on, Anthropic refuses a running loop whose first kept step does not open with
    thinking. Loops that have ended are not checked, so only the last one counts.
    """
    linked: int | None = None  # the last step that a later one may not be parted from
    for i in range(_running_loop(messages), len(messages)):
        message = messages[i]
        if message.role is not Role.ASSISTANT or not message.parts:
            continue
        first = message.parts[0]
        if isinstance(first, Thinking) and first.signed:
            linked = i
        elif linked is not None:
            yield from range(linked + 1, i + 1)
            linked = i


def _running_loop(messages: Sequence[Message]) -> int:
    """Return where the tool loop in progress starts; the length of the history if none runs."""
    if not messages or not _in_loop(messages[-1]):
        return len(messages)
    for i in range(len(messages) - 1, -1, -1):
        message = messages[i]
        if message.role is Role.USER and message.origin is Origin.SPOKEN and not any(message.results):
            return i + 1
    return 0


def _in_loop(last: Message) -> bool:
    return any(isinstance(part, ToolCall | ToolResult) for part in last.parts)
