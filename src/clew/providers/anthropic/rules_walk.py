"""What Anthropic's rules look at: blocks, messages as the API merges them, and what each model accepts.

Three messages ``user, user, assistant`` are two turns, and an error of the API about ``messages.1`` means the
third message. ``known_family({"model": "claude-opus-4-7"}).sampling`` is ``Sampling.NONE``: a temperature is
refused. Rules do not apply to models that are not listed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from clew.message import Json, JsonObject
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


# What each Claude model accepts ---------------------------------------------------------------------


class Sampling(Enum):
    """Whether ``temperature``, ``top_p`` and ``top_k`` may be given."""

    ANY = auto()
    DEFAULTS = auto()
    """Only with their default values."""
    NONE = auto()


BASIC_EFFORTS = ("low", "medium", "high")
MAX_EFFORTS = (*BASIC_EFFORTS, "max")
ALL_EFFORTS = (*BASIC_EFFORTS, "xhigh", "max")


@dataclass(frozen=True, slots=True)
class ClaudeFamily:
    """The parameters that the models of one family accept."""

    efforts: tuple[str, ...] = ()
    prefill: bool = True
    """The request may end with the beginning of the answer."""
    thinking_budget: bool = True
    """``thinking: {type: enabled, budget_tokens}`` is accepted."""
    thinking_off: bool = True
    """``thinking: {type: disabled}`` is accepted."""
    sampling: Sampling = Sampling.ANY
    system_turns: bool = False
    """``role: system`` is accepted in the message list."""


_CLASSIC = ClaudeFamily()
_ADAPTIVE = ClaudeFamily(MAX_EFFORTS, prefill=False)
_OPUS_4_7 = ClaudeFamily(ALL_EFFORTS, prefill=False, thinking_budget=False, sampling=Sampling.NONE)
_OPUS_4_8 = ClaudeFamily(
    ALL_EFFORTS, prefill=False, thinking_budget=False, sampling=Sampling.NONE, system_turns=True
)
# Sonnet 5 accepts a system turn and ignores it, so no rule reports it.
_SONNET_5 = ClaudeFamily(
    ALL_EFFORTS, prefill=False, thinking_budget=False, sampling=Sampling.DEFAULTS, system_turns=True
)
_FABLE_5 = ClaudeFamily(
    ALL_EFFORTS,
    prefill=False,
    thinking_budget=False,
    thinking_off=False,
    sampling=Sampling.NONE,
    system_turns=True,
)

FAMILIES: dict[str, ClaudeFamily] = {
    "3-haiku": _CLASSIC,
    "3-opus": _CLASSIC,
    "3-sonnet": _CLASSIC,
    "3-5-haiku": _CLASSIC,
    "3-5-sonnet": _CLASSIC,
    "3-7-sonnet": _CLASSIC,
    "haiku-4-5": _CLASSIC,
    "opus-4": _CLASSIC,
    "opus-4-1": _CLASSIC,
    "opus-4-5": ClaudeFamily(BASIC_EFFORTS),
    "opus-4-6": _ADAPTIVE,
    "opus-4-7": _OPUS_4_7,
    "opus-4-8": _OPUS_4_8,
    "opus-5": _OPUS_4_8,
    "sonnet-4": _CLASSIC,
    "sonnet-4-5": _CLASSIC,
    "sonnet-4-6": _ADAPTIVE,
    "sonnet-5": _SONNET_5,
    "fable-5": _FABLE_5,
    "mythos-5": _FABLE_5,
}
"""From Anthropic's claude-api skill (July 2026), pydantic-ai's profiles (August 2026) and recordings."""

# claude-opus-4-8, us.anthropic.claude-sonnet-4-5-20250929-v1:0, anthropic/claude-opus-4.7
_NAME = re.compile(r"claude-(?:(\d(?:[-.]\d)?)-([a-z]+)|([a-z]+)-(\d(?:[-.]\d{1,2})?))(?!\d)")


def family_of(model: Json) -> str | None:
    """Return the family in a model's name, in any provider's spelling; None if it is not a Claude."""
    match = _NAME.search(as_text(model).lower())
    if match is None:
        return None
    old_version, old_tier, tier, version = match.groups()
    name = f"{old_version}-{old_tier}" if old_tier else f"{tier}-{version}"
    return name.replace(".", "-").removesuffix("-0")


def known_family(body: JsonObject) -> ClaudeFamily | None:
    """Return the family of the request's model, or None if it is not listed."""
    return FAMILIES.get(family_of(body.get("model")) or "")
