"""Messages (role, parts, origin), items (messages with ids), citations, and simple questions to a history.

``Message(Role.USER, (Text("Fix the tests"),))`` is a message; ``Item("m12", message)`` is the same message as
the twelfth of its session; ``Cite("m12", 0, 0, 3)`` quotes "Fix" of its first part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from clew.message.parts import Compacted, Native, Part, Text, Thinking, ToolCall, ToolResult, Trust, lowest
from clew.message.text import lazy_pattern


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


_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)

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
    def trust(self) -> Trust:
        """Return the lowest trust of its parts."""
        return lowest(part.trust for part in self.parts)

    @property
    def is_from_user(self) -> bool:
        """Whether the user wrote it: not a harness, a summariser or a tool in the user's name."""
        return self.role is Role.USER and self.origin is Origin.SPOKEN and not any(self.results)

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


def turns(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Yield ``(start, stop)`` of each turn: a message from the user and everything up to the next one."""
    start = 0
    for i, message in enumerate(messages):
        if i and message.role is Role.USER and message.origin is Origin.SPOKEN:
            yield start, i
            start = i
    if messages:
        yield start, len(messages)


class Item(NamedTuple):
    """A message with the id it has in its session."""

    id: str
    message: Message


def message_number(name: str) -> int:
    """Return the number in the id of a message, such as 12 for ``m12``; 0 for any other id."""
    digits = name[1:]
    is_number = name[:1] == "m" and digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
    return int(digits) if is_number else 0


_MOST_DIGITS = 18
"""Of a message number: far above any session, and few enough that a forged id costs nothing to convert."""


class Cite(NamedTuple):
    """A citation: characters ``start`` to ``end`` of one part's text, as ``words`` returns it."""

    message: str
    """The id of the message."""
    part: int = 0
    start: int = 0
    end: int | None = None
    """None means the end of the text."""

    @property
    def number(self) -> int:
        """The number in the id of the message, such as 7 of ``m7``; 0 for a digest and any other id."""
        return message_number(self.message)

    def quote(self, message: Message) -> str:
        """Return the cited text."""
        return words(message.parts[self.part])[self.start : self.end]


LONGEST_RULE = 600
"""Characters of a rule that are quoted at most; a longer one is cut after a clause (chosen by hand)."""

_HOLDS_TEXT = (Text, ToolResult, Thinking)
"""Made once, because ``words`` is called tens of thousands of times in one compaction."""


def words(part: Part) -> str:
    """Return a part's text (for a tool call, its arguments); ``Cite`` offsets refer to it."""
    if isinstance(part, _HOLDS_TEXT):
        return part.text
    return part.input_text if isinstance(part, ToolCall) else ""


# Questions to a history --------------------------------------------------------------------------------


def system_prefix(messages: Sequence[Message]) -> int:
    """Return the number of leading system and developer messages."""
    leading = 0
    while leading < len(messages) and messages[leading].role in _INSTRUCTIONS:
        leading += 1
    return leading


LONGEST_INSTRUCTIONS = 32_768
"""Characters up to which the instruction file of a harness is kept like a prompt: Codex reads no more."""
_INSTRUCTION_FILE = lazy_pattern(
    r"\s*(?:# AGENTS\.md instructions[^\n]*\s+)?<(INSTRUCTIONS|user_instructions)>.*</\1>\s*"
    r"(?:<environment_context>.*</environment_context>\s*)?",
    re.DOTALL,
)


def _is_instruction_file(message: Message) -> bool:
    """Return True if a message in the user's role is nothing but the instruction file of a harness."""
    if message.role is not Role.USER or not all(isinstance(part, Text) for part in message.parts):
        return False
    if not any(mark in message.text[:400] for mark in ("<INSTRUCTIONS>", "<user_instructions>")):
        return False
    text = message.text
    return len(text) <= LONGEST_INSTRUCTIONS and _INSTRUCTION_FILE.fullmatch(text) is not None


def fixed_prefix(items: Sequence[Item]) -> int:
    """Return the number of leading messages that must stay: the system prompt, a provider's own compaction.

    The instruction file that a harness puts first in the user's role (Codex: AGENTS.md) counts as a prompt.
    A provider's compaction item is first in the list, or after the user messages it was returned with; it is
    signed or encrypted for exactly that position.
    """
    prompt = sealed = 0
    for i, item in enumerate(items):
        if prompt == i and _is_instruction_file(item.message):
            prompt = i + 1
            continue
        if any(isinstance(part, Compacted) for part in item.message.parts):
            sealed = i + 1
        elif item.message.role in _INSTRUCTIONS:
            prompt = i + 1 if prompt == i else prompt
        elif item.message.role is not Role.USER:
            break
    return max(prompt, sealed)


def last_user_message(items: Sequence[Item]) -> Item | None:
    """Return the last message that the user wrote, or None."""
    for item in reversed(items):
        if item.message.is_from_user:
            return item
    return None


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of a request and its answer, as the provider counted them."""

    input_tokens: int = 0
    """All input, cached or not."""
    output_tokens: int = 0
    """All output, including thinking."""
    cache_read_tokens: int = 0
    """The part of the input that was read from the cache."""
    cache_write_tokens: int = 0
    """The part of the input that was written to the cache."""
