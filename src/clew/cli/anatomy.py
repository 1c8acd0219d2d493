"""Count what a session consists of: tokens per kind of content, growth, repetition. Used by ``clew map``."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from clew.cli.text import LONGEST_SECRET, arguments_line
from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
    Json,
    JsonObject,
    Media,
    Message,
    Origin,
    Part,
    Place,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    atoms,
    pair,
    text_message,
)
from clew.secrets import mask
from clew.tokens import TokenCounter
from clew.transcripts import Entry

HEAVIEST = 6
LABEL_WIDTH = 200


class PartKind(NamedTuple):
    """A kind of content, with the letter and colour that it is drawn with."""

    name: str
    letter: str
    colour: str


KINDS = (
    PartKind("system", "s", "magenta"),
    PartKind("user", "u", "cyan"),
    PartKind("injected", "i", "bright_black"),
    PartKind("summary", "z", "red"),
    PartKind("assistant", "a", "green"),
    PartKind("thinking", "t", "bright_green"),
    PartKind("tool call", "c", "blue"),
    PartKind("tool result", "r", "yellow"),
    PartKind("media", "m", "bright_magenta"),
)


class SizedPart(NamedTuple):
    """One part of a message with its tokens."""

    kind: str
    tokens: int
    message: int


class HeavyPart(NamedTuple):
    """One of the largest parts, and what it is."""

    tokens: int
    message: int
    kind: str
    label: str


@dataclass(slots=True)
class Anatomy:
    """The figures of one session."""

    messages: int = 0
    calls: int = 0
    tokens: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    pieces: list[SizedPart] = field(default_factory=list)
    heaviest: list[HeavyPart] = field(default_factory=list)
    cuts: int = 0
    widest_atom: int = 0
    repeated: int = 0
    repeated_tokens: int = 0
    unpaired: int = 0

    def cells(self, most: int) -> list[str]:
        """Return the session as at most ``most`` cells of equally many tokens, each with its main kind.

        300 tokens of the user and 100 of a tool are in four cells: user, user, user, tool result.
        """
        size = max(1, -(-self.tokens // most))
        cells: list[str] = []
        shares: dict[str, int] = {}
        room = size
        for kind, weight, _ in self.pieces:
            left = weight
            while left >= room:
                shares[kind] = shares.get(kind, 0) + room
                left -= room
                cells.append(max(shares, key=shares.__getitem__))
                shares, room = {}, size
            if left:
                shares[kind] = shares.get(kind, 0) + left
                room -= left
        if shares:
            cells.append(max(shares, key=shares.__getitem__))
        return cells

    def growth(self, columns: int) -> list[int]:
        """Return the tokens so far at evenly spaced points of the session."""
        sums = list(accumulate(piece.tokens for piece in self.pieces))
        if not sums:
            return [0] * columns
        return [sums[((i + 1) * len(sums) - 1) // columns] for i in range(columns)]

    def message_at(self, tokens: int) -> int:
        """Return the message in which the session reaches so many tokens."""
        sums = list(accumulate(piece.tokens for piece in self.pieces))
        reached = bisect.bisect_left(sums, tokens)
        return self.pieces[min(reached, len(sums) - 1)].message if sums else 0

    def to_json(self) -> JsonObject:
        """Return the figures as JSON."""
        heaviest: list[Json] = [dict(heavy._asdict()) for heavy in self.heaviest]
        kinds: JsonObject = dict(self.by_kind)
        return {
            "messages": self.messages,
            "tool_calls": self.calls,
            "tokens": self.tokens,
            "by_kind": kinds,
            "heaviest": heaviest,
            "safe_cuts": self.cuts,
            "widest_atom": self.widest_atom,
            "repeated_results": self.repeated,
            "repeated_tokens": self.repeated_tokens,
            "unpaired": self.unpaired,
        }


def anatomy(conversation: Sequence[Entry], shown_entries: Sequence[Entry], counter: TokenCounter) -> Anatomy:
    """Count the tokens of every part; messages have the numbers by which ``clew expand`` prints them."""
    numbers = {entry.id: number for number, entry in enumerate(shown_entries, start=1)}
    messages = [entry.message for entry in conversation]
    figures = Anatomy(messages=len(messages))
    pairing = pair(messages)
    labels = {
        result: _call_label(messages[call.message].parts[call.part])
        for result, call in pairing.answers.items()
    }
    heavy: list[HeavyPart] = []
    seen: set[str] = set()
    for i, message in enumerate(messages):
        number = numbers.get(conversation[i].id, i + 1)
        for j, (part, tokens) in enumerate(_part_tokens(message, counter)):
            kind = _kind(message, part)
            figures.pieces.append(SizedPart(kind, tokens, number))
            figures.by_kind[kind] = figures.by_kind.get(kind, 0) + tokens
            figures.calls += isinstance(part, ToolCall)
            label = labels.get(Place(i, j)) or _label(part)
            heavy.append(HeavyPart(tokens, number, kind, label))
            if isinstance(part, ToolResult) and (text := part.text):
                if text in seen:
                    figures.repeated += 1
                    figures.repeated_tokens += tokens
                seen.add(text)
    figures.tokens = sum(figures.by_kind.values())
    figures.heaviest = heapq.nlargest(HEAVIEST, heavy, key=lambda item: item.tokens)
    runs = atoms(messages)
    figures.cuts, figures.widest_atom = len(runs) + 1, max((b - a for a, b in runs), default=0)
    figures.unpaired = len(pairing.dangling) + len(pairing.orphans)
    return figures


def _part_tokens(message: Message, counter: TokenCounter) -> list[tuple[Part, int]]:
    """Return the parts with their tokens; the overhead of the message is added to its largest part.

    Together they are what the message counts in every other place.
    """
    parts = message.parts or text_message(message.role, "").parts  # an empty message still has its overhead
    weights = [counter.count_part(part) for part in parts]
    weights[weights.index(max(weights))] += counter.count(message) - sum(weights)
    return list(zip(parts, weights, strict=True))


def _kind(message: Message, part: Part) -> str:
    """Return the name in ``KINDS`` of a part; the values of ``Origin`` and ``Role`` are such names."""
    match part:
        case ToolCall() | ApprovalRequest():
            return "tool call"
        case ToolResult() | ApprovalAnswer():
            return "tool result"
        case Thinking():
            return "thinking"
        case Media():
            return "media"
        case Compacted():
            return "summary"
        case Text() | Unknown():
            if message.origin is not Origin.SPOKEN:
                return message.origin.value
            return {Role.DEVELOPER: "system", Role.TOOL: "tool result"}.get(message.role, message.role.value)


def _label(part: Part) -> str:
    match part:
        case ToolCall() | ApprovalRequest():
            return _call_label(part)
        case Text() | Thinking() | ToolResult():
            return mask(part.text[: LABEL_WIDTH + LONGEST_SECRET]).text[:LABEL_WIDTH]
        case Media():
            return part.media_type or part.kind
        case _:
            return ""


def _call_label(part: Part) -> str:
    if not isinstance(part, ToolCall | ApprovalRequest):
        return ""
    return f"{part.name}({arguments_line(part.arguments, LABEL_WIDTH)})"
