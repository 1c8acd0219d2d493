"""A message under an id, and exact places in it: what provenance is made of."""

from __future__ import annotations

from typing import NamedTuple

from clew.message.message import Message
from clew.message.parts import Part, Text, Thinking, ToolCall, ToolResult

LONGEST_RULE = 600
"""Characters of a rule that are quoted: of a longer one the beginning, whole clauses of it."""


class Item(NamedTuple):
    """A message with the id it has in its session."""

    id: str
    message: Message


class Cite(NamedTuple):
    """An exact place: characters ``start`` to ``end`` of what a part says."""

    message: str
    """The id of the message."""
    part: int = 0
    start: int = 0
    end: int | None = None
    """None for all of it."""

    def quote(self, message: Message) -> str:
        """Return the words at this place."""
        return words(message.parts[self.part])[self.start : self.end]


_HOLDS_TEXT = (Text, ToolResult, Thinking)
"""A tuple, made once: in a pass this is asked tens of thousands of times."""


def words(part: Part) -> str:
    """Return what a part says, as one text: what ``Cite`` counts its characters in."""
    if isinstance(part, _HOLDS_TEXT):
        return part.text
    return part.input_text if isinstance(part, ToolCall) else ""
