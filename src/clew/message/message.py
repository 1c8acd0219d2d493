"""A message: its role, its parts, and where its text came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from clew.message.parts import Native, Part, Text, ToolCall, ToolResult
from clew.message.trust import Trust


class Role(StrEnum):
    """The role, as providers name it. A message that holds only tool results has the role ``tool``."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Origin(StrEnum):
    """Who wrote the text: a message with the role ``user`` may come from a harness or a summariser."""

    SPOKEN = "spoken"
    """Written by the role's own speaker."""
    INJECTED = "injected"
    """Added by the harness: reminders, environment, command output. Never the user's own words."""
    SUMMARY = "summary"
    """A compaction by clew or another tool: machine-written, never the user's own words."""


ROLE_TRUST = {
    Role.SYSTEM: Trust.SYSTEM,
    Role.DEVELOPER: Trust.DEVELOPER,
    Role.USER: Trust.USER,
    Role.ASSISTANT: Trust.ASSISTANT,
    Role.TOOL: Trust.UNTRUSTED,
}
"""The default trust of text with each role."""


def trust_of(role: Role, origin: Origin = Origin.SPOKEN) -> Trust:
    """Return the default trust. A summary may quote untrusted text, so it is untrusted itself."""
    if origin is Origin.SUMMARY:
        return Trust.UNTRUSTED
    if origin is Origin.INJECTED:
        return min(Trust.SEMI_TRUSTED, ROLE_TRUST[role])
    return ROLE_TRUST[role]


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a history.

    Change it with ``dataclasses.replace``; a message that was not changed is rendered exactly as it was read.
    """

    role: Role
    parts: tuple[Part, ...]
    origin: Origin = Origin.SPOKEN
    native: Native | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """Return the text parts, joined by newlines, without thinking, calls and results."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> Iterator[ToolCall]:
        """Yield the tool calls."""
        return (part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> Iterator[ToolResult]:
        """Yield the tool results."""
        return (part for part in self.parts if isinstance(part, ToolResult))


def text_message(role: Role, text: str, origin: Origin = Origin.SPOKEN) -> Message:
    """Return a message with one text part."""
    return Message(role, (Text(text, trust=trust_of(role, origin)),), origin)


said = text_message
"""The short name used inside clew and in tests."""


def turns(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Yield ``(start, stop)`` of each turn: a message from the user and everything up to the next one."""
    start = 0
    for i, message in enumerate(messages):
        if i and message.role is Role.USER and message.origin is Origin.SPOKEN:
            yield start, i
            start = i
    if messages:
        yield start, len(messages)
