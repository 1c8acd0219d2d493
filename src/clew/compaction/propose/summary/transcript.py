"""Render messages for a summariser in portions that fit its window, and parse them back.

Each message is under its mark, ``[m12 user]``, inside a fence with an unpredictable name. Text that looks
like a mark or fence gets a backslash, so a message can neither speak for another nor end the transcript.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from clew.compaction.propose.brief import Outline
from clew.message import Item, Media, Message, Origin, Part, Role, Text, ToolCall, ToolResult, Trust, words

DIGEST = "digest"
"""The speaker of a line from an earlier digest."""
MACHINE = "machine text"
MOST_NAMES = 4
"""Tool names listed in a message's mark."""
LONGEST_NAME = 40

_SPEAKERS = "|".join([*(role.value for role in Role), DIGEST])
# Brackets that people and models read as square ones are escaped too.
_NAME = r"[^\s\[\]［【〔⟦]{1,64}"
_LIKE_MARK = rf"[\[［【〔⟦](?=[ \t]{{0,4}}{_NAME}[ \t]{{1,4}}(?:{_SPEAKERS})\b)"
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")
_ANY_MARK = re.compile(rf"(?<!\\)\\*+{_LIKE_MARK}", re.IGNORECASE)
_HELD_MARK = re.compile(rf"(?<!\\)\\(\\*+{_LIKE_MARK})", re.IGNORECASE)
_ANY_TAG = re.compile(r"<(\s*+/?+\s*+\\*+)(?=clew-)", re.IGNORECASE)
_HELD_TAG = re.compile(r"<(\s*+/?+\s*+\\*)\\(?=clew-)", re.IGNORECASE)
_MARK = re.compile(rf"^\[(?P<name>{_NAME}) (?P<speaker>{_SPEAKERS})(?:, [^\]\n]*)?\](?:\n|[ \t]+|$)", re.M)
_FENCE = re.compile(r"<clew-(transcript|index)-([0-9a-f]{12})>\n(.*?)\n</clew-\1-\2>", re.DOTALL)


class ParsedPiece(NamedTuple):
    """A message, or a piece of one, as parsed from a prompt."""

    name: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """The text under one mark: what one speaker says in a message, or a part of it."""

    owner: str
    """The id of the message of the span that it belongs to."""
    name: str
    """What a claim cites: the message's id, or that of an earlier claim."""
    speaker: str
    text: str
    remark: str = ""
    """Notes for its mark: tools called, an error, an image."""
    begins: bool = True
    """Whether it starts at the beginning of the message."""
    ends: bool = True

    @property
    def mark(self) -> str:
        """Return the mark line."""
        notes = (self.remark, "" if self.begins else "continued", "" if self.ends else "to be continued")
        return f"[{', '.join(filter(None, (f'{self.name} {self.speaker}', *notes)))}]"

    @property
    def shown(self) -> str:
        """Return it as rendered in a prompt."""
        return f"{self.mark}\n{escape_marks(self.text)}"

    def cut(self, at: int) -> tuple[Piece, Piece]:
        """Split it in two at a character."""
        return replace(self, text=self.text[:at], ends=False), replace(
            self, text=self.text[at:], begins=False
        )


def pieces_of(outline: Outline) -> list[Piece]:
    """Return the readable content of a span, in order; of an earlier digest what is not added anyway."""
    pieces: list[Piece] = []
    said = {claim.text for claim in outline.brief.claims}
    for item in outline.span:
        if outline.earlier is not None and item.id == outline.earlier.id:
            claims = (claim for claim in outline.earlier.claims if claim.text not in said)
            pieces += (Piece(item.id, one.id, DIGEST, one.text, one.kind.value) for one in claims)
        else:
            pieces += message_pieces(item)
    return pieces


def message_pieces(item: Item) -> Iterator[Piece]:
    """Yield what each speaker says in a message; tool output never appears under the user's mark."""
    message = item.message

    def voice(part: Part) -> tuple[str, str]:
        return _voice(part, message)

    for (speaker, remark), parts in groupby(message.parts, voice):
        group = list(parts)
        remarks = ", ".join(filter(None, (remark, *_remarks(group))))
        yield Piece(item.id, item.id, speaker, "\n".join(filter(None, map(words, group))), remarks)
    if not message.parts:
        yield Piece(item.id, item.id, message.role.value, "")


def _voice(part: Part, message: Message) -> tuple[str, str]:
    if isinstance(part, ToolResult):
        return Role.TOOL.value, ""
    if message.role is not Role.USER:
        return message.role.value, ""
    typed = message.origin is Origin.SPOKEN and (not isinstance(part, Text) or part.trust >= Trust.USER)
    return Role.USER.value, "" if typed else MACHINE


def _remarks(parts: Sequence[Part]) -> Iterator[str]:
    called = [_safe(part.name) for part in parts if isinstance(part, ToolCall)]
    if called:
        more = f" and {len(called) - MOST_NAMES} more" if len(called) > MOST_NAMES else ""
        yield f"calls {' '.join(called[:MOST_NAMES])}{more}"
    named = [_safe(part.name) for part in parts if isinstance(part, ToolResult) and part.name]
    if named:
        yield f"result of {' '.join(named[:MOST_NAMES])}"
    if any(isinstance(part, ToolResult) and part.is_error for part in parts):
        yield "error"
    yield from dict.fromkeys(part.kind for part in parts if isinstance(part, Media))


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)[:LONGEST_NAME]


# The fence -------------------------------------------------------------------------------------------


def escape_marks(text: str) -> str:
    """Escape everything that looks like one of our marks or tags; ``unescape_marks`` reverses it.

    Lone surrogates, which no request can carry, are replaced by ``\ufffd`` for good.
    """
    text = _HALF_CHARACTER.sub("\ufffd", text)
    return _ANY_TAG.sub(r"<\1\\", _ANY_MARK.sub(r"\\\g<0>", text))


def unescape_marks(text: str) -> str:
    """Return a text as it was before ``escape_marks``."""
    return _HELD_MARK.sub(r"\1", _HELD_TAG.sub(r"<\1", text))


def nonce(texts: Iterable[str]) -> str:
    """Return a fence name for these texts: deterministic, and not contained in any of them."""
    state = hashlib.sha256()
    for text in texts:
        state.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return state.hexdigest()[:12]


def fenced(name: str, key: str, body: str) -> str:
    """Wrap a body, which must be escaped, in the tags of a name."""
    return f"<clew-{name}-{key}>\n{body}\n</clew-{name}-{key}>"


# Parsing ---------------------------------------------------------------------------------------------


def read_fence(text: str) -> list[ParsedPiece] | None:
    """Return what the last transcript or index in a prompt shows; None if there is none."""
    found = [match[3] for match in _FENCE.finditer(text)]
    return list(read_marks(found[-1])) if found else None


def read_marks(text: str) -> Iterator[ParsedPiece]:
    """Yield the text under each mark."""
    marks = list(_MARK.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text) + 1]
    for mark, end in zip(marks, ends, strict=False):
        yield ParsedPiece(mark["name"], mark["speaker"], unescape_marks(text[mark.end() : end - 1]))


MARK_TOKENS = 14
"""Tokens of a piece beyond its text."""
LEAST_ROOM = 96
"""Tokens of a portion below which it is not split."""
SHORTEST_PIECE = 400
"""Characters below which a message is not split because it was too long."""

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Portion:
    """Pieces shown in one prompt."""

    pieces: tuple[Piece, ...]
    tokens: int
    begins: bool = True
    """Whether it starts at the beginning of the span."""
    ends: bool = True
    halvings: int = 0
    """How often it was split because it was too long."""

    def halves(self, count: Count) -> Sequence[Portion]:
        """Split it in two, between messages if there are several; return nothing if it is too small."""
        if len(self.pieces) > 1:
            at = _middle(self.pieces, count)
            first, second = self.pieces[:at], self.pieces[at:]
        elif len(self.pieces[0].text) >= 2 * SHORTEST_PIECE:
            piece, other = _cut_in_two(self.pieces[0])
            first, second = (piece,), (other,)
        else:
            return ()
        deeper = replace(self, halvings=self.halvings + 1)
        return (
            replace(deeper, pieces=first, tokens=_tokens(first, count), ends=False),
            replace(deeper, pieces=second, tokens=_tokens(second, count), begins=False),
        )


def portions(pieces: Iterable[Piece], room_tokens: int, count: Count) -> list[Portion]:
    """Group pieces into portions of at most so many tokens, split between messages; split giants."""
    room = max(room_tokens, LEAST_ROOM)
    finished: list[Portion] = []
    current_pieces: list[Piece] = []
    used = 0
    for piece in (small for whole_piece in pieces for small in _small_enough(whole_piece, room, count)):
        size = _size(piece, count)
        if current_pieces and used + size > room:
            finished.append(Portion(tuple(current_pieces), used, begins=not finished, ends=False))
            current_pieces, used = [], 0
        current_pieces.append(piece)
        used += size
    return [*finished, Portion(tuple(current_pieces), used, begins=not finished)] if current_pieces else []


def _small_enough(piece: Piece, room: int, count: Count) -> Iterator[Piece]:
    """Yield a piece in as many pieces as needed to fit; joined, their texts are its text."""
    waiting = [piece]
    while waiting:
        small_piece = waiting.pop()
        if _size(small_piece, count) <= room or len(small_piece.text) < 2:
            yield small_piece
        else:
            waiting += reversed(_cut_in_two(small_piece))


def _cut_in_two(piece: Piece) -> tuple[Piece, Piece]:
    """Split a piece near its middle, at the end of a line or else of a word, if one is near."""
    text = piece.text
    half = len(text) // 2
    near = text[half : half + half // 2]
    for sign in ("\n", " "):
        found = near.find(sign)
        if found >= 0:
            return piece.cut(half + found + 1)
    return piece.cut(half)


def _middle(pieces: Sequence[Piece], count: Count) -> int:
    """Return where to split several pieces into halves of about the same size."""
    half = _tokens(pieces, count) / 2
    tokens_so_far = 0
    for i, piece in enumerate(pieces):
        tokens_so_far += _size(piece, count)
        if tokens_so_far >= half:
            return min(max(i, 1), len(pieces) - 1)
    return len(pieces) - 1


def _tokens(pieces: Iterable[Piece], count: Count) -> int:
    return sum(_size(piece, count) for piece in pieces)


def _size(piece: Piece, count: Count) -> int:
    return count(piece.text) + MARK_TOKENS
