"""Events of a chat turn, as typed values.

The terminal, the inspector and tests consume the same events; commands yield them too.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from clew.chat.reports import CompactionNotice
from clew.errors import ClewError
from clew.message import JsonObject, Message, Trust, Usage
from clew.providers.model import Stop


class Answer(StrEnum):
    """A person's answer to an ``ApprovalRequested`` event."""

    YES = "yes"
    ALWAYS = "always"
    """Yes, and do not ask again for this tool in this session."""
    NO = "no"


@dataclass(frozen=True, slots=True)
class UserStored:
    """The user's message is in the log. It stays there even if the turn fails."""

    id: str


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the streamed reply."""

    text: str
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class ReplyStored:
    """The reply is complete and in the log."""

    id: str
    message: Message
    stop: Stop
    usage: Usage


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The model calls a tool."""

    call_id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A tool wants to change something: send an ``Answer`` into the turn. None counts as no."""

    call_id: str
    tool: str
    what: str
    """One line that describes the change; it quotes the model's arguments."""
    against: tuple[str, ...] = ()
    """Rules that forbid it, each as ``p1 "never touch legacy/"``."""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has returned; its result will be stored."""

    call_id: str
    name: str
    text: str
    trust: Trust
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ViewCompacted:
    """The view was compacted. The notice says why, what was kept, and how to undo it."""

    notice: CompactionNotice


@dataclass(frozen=True, slots=True)
class ChatWarning:
    """A warning for the person, for example that the window is nearly full."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn could not be finished; the log is consistent and has the user's message."""

    error: ClewError
    advice: str = ""


@dataclass(frozen=True, slots=True)
class TurnStopped:
    """The turn was interrupted."""

    kept: str | None = None
    """The id of the stored partial reply; None if nothing had arrived."""


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """Text printed by a command."""

    text: str


@dataclass(frozen=True, slots=True)
class ChatEnded:
    """The person ended the chat."""


ChatEvent: TypeAlias = (
    UserStored
    | Delta
    | ReplyStored
    | ToolStarted
    | ApprovalRequested
    | ToolFinished
    | ViewCompacted
    | ChatWarning
    | TurnFailed
    | TurnStopped
    | CommandOutput
    | ChatEnded
)

Turn: TypeAlias = Generator[ChatEvent, Answer | None, None]
"""The events of a turn in order; after ``ApprovalRequested``, send an ``Answer`` into it."""
