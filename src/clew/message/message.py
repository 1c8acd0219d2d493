"""A message: who speaks, and what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from clew.message.parts import Native, Part, Text, ToolCall, ToolResult
from clew.message.trust import Trust


class Role(StrEnum):
    """The speaker, as providers name it. An answer that holds only tool results has the role ``tool``."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Origin(StrEnum):
    """Who really made the words: a user message may have been written by a harness or a summariser."""

    SPOKEN = "spoken"
    """The speaker named by the role."""
    INJECTED = "injected"
    """The harness: reminders, environment, command output. Never the user's words."""
    SUMMARY = "summary"
    """A compaction, ours or another tool's. Machine text, never the user's words."""


ROLE_TRUST = {
    Role.SYSTEM: Trust.SYSTEM,
    Role.DEVELOPER: Trust.DEVELOPER,
    Role.USER: Trust.USER,
    Role.ASSISTANT: Trust.ASSISTANT,
    Role.TOOL: Trust.UNTRUSTED,
}
"""The label of what a speaker says when nothing else is known."""


def trust_of(role: Role, origin: Origin = Origin.SPOKEN) -> Trust:
    """Return the default label: a summary may quote anything, so it is believed like the least of it."""
    if origin is Origin.SUMMARY:
        return Trust.UNTRUSTED
    if origin is Origin.INJECTED:
        return min(Trust.SEMI_TRUSTED, ROLE_TRUST[role])
    return ROLE_TRUST[role]


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a history.

    Change it with ``dataclasses.replace``: what you do not touch goes out as it came in.
    """

    role: Role
    parts: tuple[Part, ...]
    origin: Origin = Origin.SPOKEN
    native: Native | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """Return the words said directly, without thinking, calls and results."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> Iterator[ToolCall]:
        """Yield the tool calls."""
        return (part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> Iterator[ToolResult]:
        """Yield the tool results."""
        return (part for part in self.parts if isinstance(part, ToolResult))


def said(role: Role, text: str, origin: Origin = Origin.SPOKEN) -> Message:
    """Make a message of plain words."""
    return Message(role, (Text(text, trust=trust_of(role, origin)),), origin)


def turns(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Yield ``(start, stop)`` of each turn: a user's spoken message and everything up to the next one."""
    start = 0
    for i, message in enumerate(messages):
        if i and message.role is Role.USER and message.origin is Origin.SPOKEN:
            yield start, i
            start = i
    if messages:
        yield start, len(messages)
