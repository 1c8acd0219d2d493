"""Find the messages that must stay together (atoms), and the indexes where a history may be cut.

An atom is a run of messages that a provider rejects if it is split: a tool call with all its parallel
results, an approval request with its answer, a reasoning item with the item that follows it, and, in a
tool loop that is still running, every step back to the last signed thinking block.

The history ``[user, assistant with call a, result of a, assistant]`` has the atoms ``(0, 1)``, ``(1, 3)`` and
``(3, 4)``: it may be cut at 0, 1, 3 and 4. Every function takes time linear in the number of parts.
"""

from __future__ import annotations

import dataclasses
import itertools
import types
import typing
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any, NamedTuple, TypeVar

from clew.message.message import Message, Role
from clew.message.parts import ApprovalAnswer, ApprovalRequest, Json, Text, Thinking, ToolCall, ToolResult

# ruff: noqa: ANN401  # any value may be checked


_T = TypeVar("_T")
_Test = Callable[[Any], bool]


def check_fields(value: _T) -> _T:
    """Return the value unchanged; raise ``TypeError`` if a field does not match its annotation.

    Checks tuples, named tuples and data classes recursively. Fields annotated as JSON may hold any JSON.
    """
    kind: Any = type(value)
    for name, fits in _fields(kind):
        content = getattr(value, name)
        if not fits(content):
            raise TypeError(f"{type(value).__name__}.{name} cannot be {content!r:.80}")
    return value


@cache
def _fields(kind: Any) -> tuple[tuple[str, _Test], ...]:
    hints = typing.get_type_hints(kind, localns={"Json": Json})  # a recursive alias
    names = getattr(kind, "_fields", None) or [field.name for field in dataclasses.fields(kind)]
    return tuple((name, test) for name in names if (test := _test(hints[name])) is not _anything)


@cache
def _test(hint: Any) -> _Test:
    """Return a test whether a value has the type of an annotation, such as ``tuple[str, ...] | None``."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):  # str | None
        return _union(inner)
    if origin is typing.Literal:  # Literal["image", "audio"]
        return lambda value: isinstance(value, str) and value in inner
    if origin is tuple:  # tuple[str, ...]
        item, scalar = _test(inner[0]), {inner[0]}
        if inner[0] in (str, int):  # a digest may cover a million messages
            return lambda value: isinstance(value, tuple) and set(map(type, value)) <= scalar
        return lambda value: isinstance(value, tuple) and all(map(item, value))
    if origin in (dict, list):
        return lambda value: isinstance(value, origin)  # JSON: checked by the code that uses it
    if origin is not None or not isinstance(hint, type):  # Json, and other hints that are not classes
        return _anything
    if hint in (int, float):
        number = (int, float) if hint is float else int
        return lambda value: isinstance(value, number) and not isinstance(value, bool)
    if hasattr(hint, "_fields") or dataclasses.is_dataclass(hint):
        return lambda value: isinstance(value, hint) and _fields_match(value)
    return lambda value: isinstance(value, hint)


def _union(hints: tuple[Any, ...]) -> _Test:
    if all(map(_is_class, hints)):
        return lambda value: isinstance(value, hints)
    options = [_test(option) for option in hints]
    return _anything if _anything in options else lambda value: any(fits(value) for fits in options)


def _is_class(hint: Any) -> bool:
    """Return True if a value fits the hint whenever it is an instance of it."""
    return isinstance(hint, type) and (hint in (str, bool, type(None)) or issubclass(hint, Enum))


def _fields_match(value: Any) -> bool:
    kind: Any = type(value)
    return all(fits(getattr(value, name)) for name, fits in _fields(kind))


def _anything(_value: Any) -> bool:
    return True


class Place(NamedTuple):
    """The position of a part: the index of its message, and its index in that message."""

    message: int
    part: int


@dataclass(frozen=True, slots=True)
class Pairing:
    """Tool results matched to calls, approval answers matched to requests, and those without a match."""

    answers: dict[Place, Place] = field(default_factory=dict)
    """Maps each result to its call."""
    dangling: list[Place] = field(default_factory=list)
    """Calls and approval requests without an answer, in order."""
    orphans: list[Place] = field(default_factory=list)
    """Results and approval answers without a call or request, in order."""


class _OpenCalls:
    """Several unanswered calls of one id: ``take`` returns the first one of the latest message."""

    __slots__ = ("_by_message",)

    def __init__(self, first: Place) -> None:
        self._by_message = [deque([first])]

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


_Waiting = dict[str, Place | _OpenCalls]
"""By id: one unanswered call or request, as nearly always, or several."""


def pair(messages: Sequence[Message]) -> Pairing:
    """Match each result to the nearest earlier unanswered call with the same id.

    Ids need not be unique: in real sessions a model sometimes uses one id for several calls.
    """
    calls: _Waiting = {}
    requests: _Waiting = {}
    pairing = Pairing()
    for i, message in enumerate(messages):
        parts = message.parts
        if len(parts) == 1 and type(parts[0]) is Text:
            continue  # most messages: this takes half as long as a look at each part
        for j, part in enumerate(parts):
            if isinstance(part, ToolCall):
                _ask(calls, part.call_id, Place(i, j))
            elif isinstance(part, ToolResult):
                _answer(pairing, calls, part.call_id, Place(i, j))
            elif isinstance(part, ApprovalRequest):
                _ask(requests, part.approval_id, Place(i, j))
            elif isinstance(part, ApprovalAnswer):
                _answer(pairing, requests, part.approval_id, Place(i, j))
    waiting = itertools.chain(calls.values(), requests.values())
    places = ((one,) if isinstance(one, Place) else one.left() for one in waiting)
    pairing.dangling.extend(sorted(itertools.chain.from_iterable(places)))
    return pairing


def _ask(waiting: _Waiting, name: str, place: Place) -> None:
    known = waiting.get(name)
    if known is None:
        waiting[name] = place
    elif isinstance(known, _OpenCalls):
        known.add(place)
    else:
        several = waiting[name] = _OpenCalls(known)
        several.add(place)


def _answer(pairing: Pairing, waiting: _Waiting, name: str, place: Place) -> None:
    known = waiting.get(name)
    if isinstance(known, _OpenCalls):
        call = known.take()
    else:
        call = known
        waiting.pop(name, None)
    if call is None:
        pairing.orphans.append(place)
    else:
        pairing.answers[place] = call


def atoms(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Split a history into consecutive atoms ``(start, stop)`` that cover every message once."""
    points = cut_points(messages)
    return list(itertools.pairwise(points))


def cut_points(messages: Sequence[Message], pairing: Pairing | None = None) -> list[int]:
    """Return every index at which the history may be cut, including 0 and its length.

    ``pairing`` is what ``pair`` returns for these messages, if that is known.
    """
    glued = bytearray(len(messages) + 1)  # glued[i]: no cut between message i-1 and message i
    furthest: dict[int, int] = {}  # by the message of a call: the last message with one of its results
    for result, call in (pairing or pair(messages)).answers.items():
        if result.message > furthest.get(call.message, call.message):
            furthest[call.message] = result.message
    reach = 0  # up to here the loop has glued already: calls may overlap
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
    """Yield the index of each assistant message that follows a message of signed thinking only."""
    for i, message in enumerate(messages[:-1], start=1):
        parts = message.parts
        if not parts or not isinstance(parts[0], Thinking):
            continue  # a cheap test that rules out nearly every message
        all_signed = all(isinstance(part, Thinking) and part.signed for part in parts)
        if all_signed and messages[i].role is Role.ASSISTANT:
            yield i


def _inside_running_loop(messages: Sequence[Message]) -> Iterator[int]:
    """Yield the boundaries in the running tool loop that would separate a step from its signed thinking.

    With thinking enabled, Anthropic rejects a running loop whose first kept step does not begin with
    thinking. It does not check loops that have ended, so only the last one matters.
    """
    linked: int | None = None  # the last step that must stay with the steps after it
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
    """Return the index at which the running tool loop starts, or the number of messages if there is none."""
    last = messages[-1].parts if messages else ()
    if not any(isinstance(part, ToolCall | ToolResult) for part in last):
        return len(messages)
    for i in range(len(messages) - 1, -1, -1):
        if messages[i].is_from_user:
            return i + 1
    return 0
