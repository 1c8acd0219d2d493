"""Walk an Anthropic request body: its blocks, and its messages as the API merges them.

The rules use it: three messages ``user, user, assistant`` are two turns, and an error of the API about
``messages.1`` means the third message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from clew.message import JsonObject
from clew.providers.rules import RuleFinding, messages, once_per_check
from clew.providers.shapes import as_object, as_text, objects

CALL = "tool_use"
RESULT = "tool_result"
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
THINKING = frozenset({"thinking", "redacted_thinking"})


class Block(NamedTuple):
    """A content block and its place. A plain string counts as one text block."""

    message: int
    at: int | None
    """Its index in the content; None if the content is a plain string."""
    kind: str
    value: JsonObject

    @property
    def where(self) -> str:
        """Return the path into the body."""
        tail = "" if self.at is None else f".{self.at}"
        return f"messages.{self.message}.content{tail}"

    def id(self, key: str = "id") -> str:
        """Return the id under that key, or an empty string."""
        return as_text(self.value.get(key))


@dataclass(slots=True)
class MergedTurn:
    """Consecutive messages of one role, which the API merges into one."""

    role: str
    number: int
    """The index that the API's error messages use."""
    first: int
    """The index of its first message in the body."""
    last: int
    blocks: list[Block] = field(default_factory=list)

    @property
    def calls(self) -> list[Block]:
        """Return the calls of client tools."""
        return [block for block in self.blocks if block.kind == CALL]

    @property
    def results(self) -> list[Block]:
        """Return the results of client tools."""
        return [block for block in self.blocks if block.kind == RESULT]

    def finding(self, at: int, problem: str) -> RuleFinding:
        """Report the block at that index of the turn, with both places if the API counts differently."""
        where, text = self.blocks[at].where, f"messages.{self.number}.content.{at}"
        return RuleFinding(where, problem, text if text != where else None)


@once_per_check
def blocks(body: JsonObject) -> list[Block]:
    """Return every block of the messages, in order; not those inside tool results."""
    return [block for turn in turns(body) for block in turn.blocks]


@once_per_check
def turns(body: JsonObject) -> list[MergedTurn]:
    """Return the messages as the API sees them: consecutive ones of one role are merged.

    A history that begins with the assistant is accepted; the API puts an empty user message in front, so the
    indexes in its error messages are one higher.
    """
    merged: list[MergedTurn] = []
    shift = 0
    for i, role, message in messages(body):
        if not merged:
            shift = int(role == "assistant")
        if not merged or merged[-1].role != role:
            merged.append(MergedTurn(role, len(merged) + shift, i, i))
        turn, content = merged[-1], message.get("content")
        turn.last = i
        if isinstance(content, list):
            turn.blocks += [Block(i, j, as_text(block.get("type")), block) for j, block in objects(content)]
        elif isinstance(content, str) and content:
            turn.blocks.append(Block(i, None, "text", {"type": "text", "text": content}))
    return merged


class Inner(NamedTuple):
    """A block inside another one."""

    holder: Block
    path: str
    at: int
    value: JsonObject

    @property
    def where(self) -> str:
        """Return the path into the body."""
        return f"{self.holder.where}.{self.path}.{self.at}"


@once_per_check
def inner_blocks(body: JsonObject) -> list[Inner]:
    """Return the blocks inside tool results and documents, in order."""
    inners: list[Inner] = []
    for block in blocks(body):
        if block.kind == RESULT:
            inside, path = block.value.get("content"), "content"
        elif block.kind == "document":
            inside, path = as_object(block.value.get("source")).get("content"), "source.content"
        else:
            continue
        inners.extend(Inner(block, path, k, value) for k, value in objects(inside))
    return inners


def is_server_result(kind: str) -> bool:
    """Whether a block is the result of a server-side tool."""
    return kind.endswith("_tool_result")


def is_server_side(kind: str) -> bool:
    """Whether a block is a call or a result of a server-side tool."""
    return kind in SERVER_CALLS or is_server_result(kind)
