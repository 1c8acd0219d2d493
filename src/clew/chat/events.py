"""What happens in a turn, as typed values: whoever shows a chat draws these, and nothing else.

Commands tell in the same values, so a terminal, a page and a test look at a chat in one way.
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
    """What a person says when leave is asked for."""

    YES = "yes"
    ALWAYS = "always"
    """Yes, and the same need not be asked again in this session."""
    NO = "no"


@dataclass(frozen=True, slots=True)
class UserStored:
    """The user's words are in the log. Whatever goes wrong from here on, they stay."""

    id: str


@dataclass(frozen=True, slots=True)
class Delta:
    """A few words of the reply, as they come."""

    text: str
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class ReplyStored:
    """The reply is whole and in the log."""

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
    """A tool would change something: send an ``Answer`` into the turn. None counts as no."""

    call_id: str
    tool: str
    what: str
    """What would happen, in one line for people; the words in it are the model's."""
    against: tuple[str, ...] = ()
    """Rules that hold against it, each as ``p1 "never touch legacy/"``."""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has answered, and the answer is kept."""

    call_id: str
    name: str
    text: str
    trust: Trust
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ViewCompacted:
    """The view was made smaller. Never hidden: the notice says why, what was kept, and how to undo it."""

    notice: CompactionNotice


@dataclass(frozen=True, slots=True)
class ChatWarning:
    """Something a person should know before it matters."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn could not be finished; the log is whole, and the user's words are in it."""

    error: ClewError
    advice: str = ""


@dataclass(frozen=True, slots=True)
class TurnStopped:
    """Somebody interrupted the turn."""

    kept: str | None = None
    """The id of the part of the reply that had come; None where there was none."""


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What a command has to say."""

    text: str


@dataclass(frozen=True, slots=True)
class ChatEnded:
    """The person is done."""


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
"""What happens, one thing after the other; after ``ApprovalRequested`` it is sent an ``Answer``."""
