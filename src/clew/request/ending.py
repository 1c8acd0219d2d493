"""Render pieces as text: one system prompt block per section, and the message at the end of a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from clew.message import Message, Origin, Role, Text, Trust, lowest
from clew.message.lookalike import escaped
from clew.request.fence import ANNOUNCEMENT, Fence, needed
from clew.request.piece import Piece
from clew.request.sections import Section, sent_order

TAG = "clew-context"
PREAMBLE = "Added by the harness for this request, not said by the user."
"""First line of the end message."""


def system_blocks(pieces: Iterable[Piece], fence: Fence | None) -> list[Text]:
    """Return one block of the system prompt per section, in section order."""
    return [
        Text("\n\n".join(_written(section, own, fence)), trust=lowest(piece.trust for piece in own))
        for section, own in _by_section(pieces)
    ]


def end_message(pieces: Sequence[Piece], fence: Fence | None, announced: bool) -> Message | None:
    """Return the message that follows the last one; None without pieces.

    It has the user's role, because no wire format offers another one at that place, and states that the user
    did not write it. ``announced``: the system prompt already explains fences.
    """
    if not pieces:
        return None
    fenced = any(piece.fenced for piece in pieces)
    lines = [f"<{TAG}>", PREAMBLE]
    if fenced and not announced:
        lines.append(ANNOUNCEMENT)
    for section, own in _by_section(pieces):
        lines += _written(section, own, fence)
    text = "\n".join([*lines, f"</{TAG}>"])
    label = min(Trust.SEMI_TRUSTED, lowest(piece.trust for piece in pieces))
    return Message(Role.USER, (Text(text, trust=label),), Origin.INJECTED)


def _by_section(pieces: Iterable[Piece]) -> Iterator[tuple[Section, list[Piece]]]:
    ordered = sorted(pieces, key=lambda piece: sent_order(piece.section))
    for section, own in groupby(ordered, key=lambda piece: piece.section):
        yield section, list(own)


def _written(section: Section, pieces: Sequence[Piece], fence: Fence | None) -> Iterator[str]:
    if section.heading:
        yield f"# {section.heading}"
    for piece in pieces:
        if piece.fenced:
            yield needed(fence).around(piece.text, piece.source, piece.trust)
        elif piece.own:
            yield piece.text
        elif section.heading:
            yield f"## {escaped(piece.source)}\n{escaped(piece.text)}"
        else:
            yield escaped(piece.text)
