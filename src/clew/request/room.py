"""Decide which pieces get into a request: in section order, each section up to its token limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from clew.budget import DEFAULT, Limit, Policy
from clew.request.piece import Contribution, Piece
from clew.request.sections import INSTRUCTIONS, MEMORY, Section, sent_order

FENCE_TOKENS = 45
"""Tokens of the two tags of a fence with a source name of usual length."""
_CUT_MARK = "[cut here: {left:,} more characters in {source}]"
_FEWEST = 40
"""Tokens below which the beginning of a piece is not worth including (chosen by hand)."""
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Room:
    """How many tokens each section may take."""

    usable_tokens: int | None = None
    """Tokens of the window, without the reply; None for no limits."""
    policy: Policy = DEFAULT

    def of(self, section: Section) -> int | None:
        """Return the tokens that a section may take; None for no limit."""
        limit = self._limits.get(section.name, section.most)
        if limit is None or self.usable_tokens is None:
            return None
        return limit.of(self.usable_tokens)

    @property
    def _limits(self) -> Mapping[str, Limit]:
        return {INSTRUCTIONS.name: self.policy.instructions, MEMORY.name: self.policy.memory}


def admitted(
    pieces: Iterable[Piece], room: Room, count: Callable[[str], int]
) -> tuple[list[Piece], list[Contribution]]:
    """Return the pieces that get in, cut if necessary, and a contribution for every piece.

    Within a section pieces are served in order; one that does not fit does not keep out a smaller later one.
    """
    ordered = sorted(pieces, key=lambda piece: sent_order(piece.section))
    taken: dict[str, int] = {}
    inside: list[Piece] = []
    told: list[Contribution] = []
    for piece in ordered:
        asked = count(piece.text) + (FENCE_TOKENS if piece.fenced else 0)
        most = room.of(piece.section)
        left = asked if most is None else max(0, most - taken.get(piece.section.name, 0))
        given, tokens, why = _served(piece, asked, left, count)
        taken[piece.section.name] = taken.get(piece.section.name, 0) + tokens
        inside += [given] if given else []
        told.append(
            Contribution(piece.section, piece.source, piece.trust, asked, min(tokens, asked), why, piece.late)
        )
    return inside, told


def _served(
    piece: Piece, asked: int, left: int, count: Callable[[str], int]
) -> tuple[Piece | None, int, str]:
    if asked <= left:
        return piece, asked, ""
    room = f"{left:,} tokens were left for {piece.section.name}"
    if not piece.cuttable or left < _FEWEST:
        return None, 0, f"left out: it has {asked:,} tokens and {room}"
    for text in _beginnings(piece, left):
        tokens = count(text) + (FENCE_TOKENS if piece.fenced else 0)
        if tokens <= left:
            return replace(piece, text=text), tokens, f"cut: it has {asked:,} tokens and {room}"
    return None, 0, f"left out: no beginning of it fits, {room}"


def _beginnings(piece: Piece, tokens: int) -> Iterator[str]:
    """Yield shorter and shorter beginnings of a piece, each ending at a line end and with a cut mark."""
    characters = tokens * _CHARS_PER_TOKEN
    while characters > _CHARS_PER_TOKEN:
        cut = piece.text.rfind("\n", 0, characters)
        kept = piece.text[: cut if cut > 0 else characters].rstrip()
        yield f"{kept}\n{_CUT_MARK.format(left=len(piece.text) - len(kept), source=piece.source)}"
        characters = characters * 3 // 4
