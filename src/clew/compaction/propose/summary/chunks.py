"""Split a span into portions that fit a summariser's window; together they contain all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from clew.compaction.propose.summary.transcript import Piece

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
            one, other = _cut_in_two(self.pieces[0])
            first, second = (one,), (other,)
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
    made: list[Portion] = []
    taken: list[Piece] = []
    used = 0
    for piece in (small for whole in pieces for small in _small_enough(whole, room, count)):
        size = _size(piece, count)
        if taken and used + size > room:
            made.append(Portion(tuple(taken), used, begins=not made, ends=False))
            taken, used = [], 0
        taken.append(piece)
        used += size
    return [*made, Portion(tuple(taken), used, begins=not made)] if taken else []


def _small_enough(piece: Piece, room: int, count: Count) -> Iterator[Piece]:
    """Yield a piece in as many pieces as needed to fit; joined, their texts are its text."""
    waiting = [piece]
    while waiting:
        one = waiting.pop()
        if _size(one, count) <= room or len(one.text) < 2:
            yield one
        else:
            waiting += reversed(_cut_in_two(one))


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
    held = 0
    for i, piece in enumerate(pieces):
        held += _size(piece, count)
        if held >= half:
            return min(max(i, 1), len(pieces) - 1)
    return len(pieces) - 1


def _tokens(pieces: Iterable[Piece], count: Count) -> int:
    return sum(_size(piece, count) for piece in pieces)


def _size(piece: Piece, count: Count) -> int:
    return count(piece.text) + MARK_TOKENS
