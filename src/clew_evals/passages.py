"""What a message says, as the measure reads it: who speaks, and plain text with nothing escaped.

Of a tool result the line numbers are taken off (``12→x = 1``), a call's ``{"path": "a.py"}`` is read as
``path: a.py``, and Windows paths are written with slashes.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from clew.message import (
    Compacted,
    Item,
    Json,
    Message,
    Origin,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
)

_LINE_NUMBER = re.compile(r"^\s*\d+(?:→|\t|│|:)", re.MULTILINE)
_WINDOWS_PATH = re.compile(r"\b[A-Za-z]:\\{1,2}[^\s\"'<>|*?`]+")
SYSTEM_ROLES = (Role.SYSTEM, Role.DEVELOPER)


class PassageSpeaker(StrEnum):
    """Who says it."""

    USER = "user"
    AGENT = "assistant"
    TOOL = "tool"
    MACHINE = "machine"
    """A harness or a summariser, in any role."""
    SYSTEM = "system"


class ReadablePassage(NamedTuple):
    """What one part says."""

    turn: int
    """The index of its message."""
    speaker: PassageSpeaker
    text: str
    part: Part


def passages(items: Sequence[Item], first_turn: int = 0) -> Iterator[ReadablePassage]:
    """Yield what the parts of messages say, in order; empty ones are left out."""
    for turn, item in enumerate(items, start=first_turn):
        for part in item.message.parts:
            text = text_of(part)
            if text:
                yield ReadablePassage(turn, speaker(item.message, part), text, part)


def speaker(message: Message, part: Part) -> PassageSpeaker:
    """Return who really says a part."""
    if isinstance(part, ToolResult):
        return PassageSpeaker.TOOL
    if message.role in SYSTEM_ROLES:
        return PassageSpeaker.SYSTEM
    if message.origin is not Origin.SPOKEN:
        return PassageSpeaker.MACHINE
    if message.role is Role.ASSISTANT:
        return PassageSpeaker.AGENT
    if message.role is Role.TOOL:
        return PassageSpeaker.TOOL
    return PassageSpeaker.USER if part.trust >= Trust.USER else PassageSpeaker.MACHINE


def text_of(part: Part) -> str:
    """Return what a part says: arguments decoded, line numbers taken off, slashes leaning one way."""
    match part:
        case ToolResult():
            return with_forward_slashes(_LINE_NUMBER.sub(" ", part.text))
        case ToolCall():
            data = part.input
            return with_forward_slashes(part.input_text if data is None else "\n".join(_json_lines(data, "")))
        case Text() | Thinking():
            return with_forward_slashes(part.text)
        case Compacted(text=text):
            return with_forward_slashes(text or "")
        case _:
            return ""


def _json_lines(value: Json, key: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, child in value.items():
            yield from _json_lines(child, name)
    elif isinstance(value, list):
        for child in value:
            yield from _json_lines(child, key)
    elif value is not None:
        yield f"{key}: {value}" if key else str(value)


def with_forward_slashes(text: str) -> str:
    r"""Return the text with ``C:\a\b`` written ``C:/a/b``, so that one rule for paths serves both."""
    if ":\\" not in text:
        return text
    return _WINDOWS_PATH.sub(lambda match: match[0].replace("\\\\", "/").replace("\\", "/"), text)


def view_text(items: Iterable[Item]) -> str:
    """Return all that a view says, as one text."""
    return "\n".join(text for item in items for part in item.message.parts if (text := text_of(part)))


@dataclass(frozen=True, slots=True)
class Readable:
    """A history as one text, and who says which piece of it."""

    text: str
    _starts: list[int] = field(repr=False)
    passages: list[ReadablePassage] = field(repr=False)

    def at(self, place: int) -> ReadablePassage:
        """Return the passage that holds this position."""
        return self.passages[bisect.bisect_right(self._starts, place) - 1]

    def line(self, place: int, length: int = 0, before: int = 120, most: int = 260) -> str:
        """Return the line around a position, of a long one the nearest characters."""
        start = max(self.text.rfind("\n", 0, place) + 1, place - before)
        end = self.text.find("\n", place + length)
        return self.text[start : end if end >= 0 else len(self.text)][:most]


def join_passages(items: Sequence[Item]) -> Readable:
    """Put what is said together, without the system's words: those no compaction touches."""
    kept = [passage for passage in passages(items) if passage.speaker is not PassageSpeaker.SYSTEM]
    starts, place = [], 0
    for passage in kept:
        starts.append(place)
        place += len(passage.text) + 1
    return Readable("\n".join(passage.text for passage in kept), starts, kept)
