"""A message with its id, and citations: exact character ranges in a message, used for provenance."""

from __future__ import annotations

from typing import NamedTuple

from clew.message.message import Message
from clew.message.parts import Part, Text, Thinking, ToolCall, ToolResult

LONGEST_RULE = 600
"""Characters of a rule that are quoted at most; a longer one is cut after a clause (chosen by hand)."""


class Item(NamedTuple):
    """A message with the id it has in its session."""

    id: str
    message: Message


class Cite(NamedTuple):
    """A citation: characters ``start`` to ``end`` of one part's text, as ``words`` returns it."""

    message: str
    """The id of the message."""
    part: int = 0
    start: int = 0
    end: int | None = None
    """None means the end of the text."""

    def quote(self, message: Message) -> str:
        """Return the cited text."""
        return words(message.parts[self.part])[self.start : self.end]


_HOLDS_TEXT = (Text, ToolResult, Thinking)
"""Made once, because ``words`` is called tens of thousands of times in one compaction."""


def words(part: Part) -> str:
    """Return a part's text (for a tool call, its arguments); ``Cite`` offsets refer to it."""
    if isinstance(part, _HOLDS_TEXT):
        return part.text
    return part.input_text if isinstance(part, ToolCall) else ""
