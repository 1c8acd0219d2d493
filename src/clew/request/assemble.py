"""Build a request: select pieces within the token limits, render them, put them around the session's view.

``admit_pieces`` decides what fits, ``system_blocks`` and ``end_message`` write it (data between fences),
``assemble`` does both and records as contributions what each source asked for and got.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple, TypeVar

from clew.budget import DEFAULT, Limit, Policy
from clew.compaction.plan.render import rules_text, rules_trust
from clew.message import Item, Message, Origin, Role, Text, Trust, last_user_message, lowest, system_prefix
from clew.message.text import escape_tags
from clew.request.assembled import AssembledRequest, OfferedTool
from clew.request.pieces import ANNOUNCEMENT, DATA_SOURCE, Fence, fence_results, require_fence
from clew.request.sections import (
    CONTRACT,
    HISTORY,
    INSTRUCTIONS,
    MEMORY,
    OBSERVATIONS,
    PINNED,
    REMINDERS,
    RULES,
    SYSTEM_PROMPT,
    TASK,
    TOOLS,
    Contribution,
    Piece,
    PiecePosition,
    Section,
    sent_order,
)
from clew.tokens import TokenCounter

FENCE_TOKENS = 45
"""Tokens of the two tags of a fence with a source name of usual length."""
_CUT_MARK = "[cut here: {left:,} more characters in {source}]"
_FEWEST_TOKENS = 40
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


def admit_pieces(
    pieces: Iterable[Piece], room: Room, count: Callable[[str], int]
) -> tuple[list[Piece], list[Contribution]]:
    """Return the pieces that get in, cut if necessary, and a contribution for every piece.

    Within a section pieces are served in order; one that does not fit does not keep out a smaller later one.
    """
    ordered = sorted(pieces, key=lambda piece: sent_order(piece.section))
    used_tokens: dict[str, int] = {}
    inside: list[Piece] = []
    contributions: list[Contribution] = []
    for piece in ordered:
        asked_tokens = count(piece.text) + (FENCE_TOKENS if piece.fenced else 0)
        most = room.of(piece.section)
        left = asked_tokens if most is None else max(0, most - used_tokens.get(piece.section.name, 0))
        fitted = _fit_piece(piece, asked_tokens, left, count)
        used_tokens[piece.section.name] = used_tokens.get(piece.section.name, 0) + fitted.tokens
        inside += [fitted.piece] if fitted.piece else []
        given = min(fitted.tokens, asked_tokens)
        contributions.append(
            Contribution(
                piece.section, piece.source, piece.trust, asked_tokens, given, fitted.why, piece.late
            )
        )
    return inside, contributions


class _FittedPiece(NamedTuple):
    piece: Piece | None
    """What of it gets in; None if it is left out."""
    tokens: int = 0
    why: str = ""
    """Why it was cut or left out."""


def _fit_piece(piece: Piece, asked_tokens: int, left: int, count: Callable[[str], int]) -> _FittedPiece:
    """Return a piece, or its beginning if it may be cut, in the tokens that are left."""
    if asked_tokens <= left:
        return _FittedPiece(piece, asked_tokens)
    room = f"{left:,} tokens were left for {piece.section.name}"
    if not piece.cuttable or left < _FEWEST_TOKENS:
        return _FittedPiece(None, why=f"left out: it has {asked_tokens:,} tokens and {room}")
    for text in _beginnings(piece, left):
        tokens = count(text) + (FENCE_TOKENS if piece.fenced else 0)
        if tokens <= left:
            why = f"cut: it has {asked_tokens:,} tokens and {room}"
            return _FittedPiece(replace(piece, text=text), tokens, why)
    return _FittedPiece(None, why=f"left out: no beginning of it fits, {room}")


def _beginnings(piece: Piece, tokens: int) -> Iterator[str]:
    """Yield shorter and shorter beginnings of a piece, each ending at a line end and with a cut mark."""
    characters = tokens * _CHARS_PER_TOKEN
    while characters > _CHARS_PER_TOKEN:
        cut = piece.text.rfind("\n", 0, characters)
        kept = piece.text[: cut if cut > 0 else characters].rstrip()
        yield f"{kept}\n{_CUT_MARK.format(left=len(piece.text) - len(kept), source=piece.source)}"
        characters = characters * 3 // 4


TAG = "clew-context"
PREAMBLE = "Added by the harness for this request, not said by the user."
"""First line of the end message."""


def system_blocks(pieces: Iterable[Piece], fence: Fence | None) -> list[Text]:
    """Return one block of the system prompt per section, in section order."""
    return [
        Text(
            "\n\n".join(_section_texts(section, own_pieces, fence)),
            trust=lowest(piece.trust for piece in own_pieces),
        )
        for section, own_pieces in _by_section(pieces)
    ]


def end_message(pieces: Sequence[Piece], fence: Fence | None, announced: bool) -> Message | None:
    """Return the message that follows the last one; None without pieces.

    It has the user's role, because no wire format offers another one at that place, and states that the user
    did not write it. Only rules do not stand under that statement: they are the user's words, and come last,
    where models follow them best. ``announced``: the system prompt already explains fences.
    """
    if not pieces:
        return None
    rules = [piece.text for piece in pieces if piece.section is RULES]
    others = [piece for piece in pieces if piece.section is not RULES]
    lines = [f"<{TAG}>", PREAMBLE]
    if any(piece.fenced for piece in others) and not announced:
        lines.append(ANNOUNCEMENT)
    for section, own_pieces in _by_section(others):
        lines += _section_texts(section, own_pieces, fence)
    lines.append(f"</{TAG}>")
    text = "\n".join([*(lines if others else ()), *rules])
    label = min(Trust.SEMI_TRUSTED, lowest(piece.trust for piece in pieces))
    return Message(Role.USER, (Text(text, trust=label),), Origin.INJECTED)


def _by_section(pieces: Iterable[Piece]) -> Iterator[tuple[Section, list[Piece]]]:
    ordered = sorted(pieces, key=lambda piece: sent_order(piece.section))
    for section, own_pieces in groupby(ordered, key=lambda piece: piece.section):
        yield section, list(own_pieces)


def _section_texts(section: Section, pieces: Sequence[Piece], fence: Fence | None) -> Iterator[str]:
    if section.heading:
        yield f"# {section.heading}"
    for piece in pieces:
        if piece.fenced:
            yield require_fence(fence).around(piece.text, piece.source, piece.trust)
        elif piece.own:
            yield piece.text
        elif section.heading:
            yield f"## {escape_tags(piece.source)}\n{escape_tags(piece.text)}"
        else:
            yield escape_tags(piece.text)


HEADINGS = "headings"
"""Source name for text the harness itself writes around pieces (headings, tags)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that goes into a request."""

    view: Sequence[Item] = ()
    """``Session.view()``. Its leading system messages are the system prompt."""
    pieces: Sequence[Piece] = ()
    tools: Sequence[OfferedTool] = ()
    """Keep the order fixed between requests: a changed list of tools invalidates the prompt cache."""
    fence: Fence | None = None
    """Required if any piece is data (trust SEMI_TRUSTED or below)."""
    room: Room = field(default_factory=Room)
    off: bool = False
    """Add nothing: the request is what a plain client would send."""
    fence_results: bool = False
    """Also put fences around the text of tool results."""


_Placed = TypeVar("_Placed", Piece, Contribution)


def _by_position(placed: Iterable[_Placed]) -> tuple[list[_Placed], list[_Placed]]:
    """Return what belongs to the system prompt, and what belongs to the end of the request."""
    listed = list(placed)
    system, end = PiecePosition.SYSTEM, PiecePosition.END
    return [one for one in listed if one.place is system], [one for one in listed if one.place is end]


def assemble(parts: Parts, counter: TokenCounter) -> AssembledRequest:
    """Return the request made of these parts. Deterministic: equal parts give an equal request."""
    prompt, rest = _split(parts.view)
    inside, asked = admit_pieces(_nonempty_pieces(parts, rest), parts.room, counter.count_text)
    messages = [item.message for item in rest]
    fencing = parts.fence_results and not parts.off
    if fencing:
        messages = fence_results(messages, require_fence(parts.fence))
    stable, late = _by_position(inside)
    first, last = _by_position(asked)
    added = system_blocks(stable, parts.fence)
    end = end_message(late, parts.fence, announced=any(piece.source == DATA_SOURCE for piece in stable))
    sent = [Item(item.id, message) for item, message in zip(rest, messages, strict=True)]
    contributions = (
        *(_whole(TOOLS, one.name, Trust.DEVELOPER, tool_tokens(one, counter)) for one in parts.tools),
        *(_whole(SYSTEM_PROMPT, one.id, Trust.SYSTEM, counter.count(one.message)) for one in prompt),
        *first,
        *_headings(CONTRACT, [block.text for block in added], first, counter),
        *_message_contributions(sent, counter),
        *last,
        *_headings(REMINDERS, [end.text] if end else [], last, counter),
    )
    return AssembledRequest(
        prompt=tuple(item.message for item in prompt),
        added=tuple(added),
        history=tuple(messages),
        end=end,
        tools=tuple(parts.tools),
        contributions=contributions,
        plain=not (inside or fencing),
    )


def _nonempty_pieces(parts: Parts, rest: Sequence[Item]) -> list[Piece]:
    """Return the non-empty pieces; without any message, END pieces have nothing to follow and are dropped."""
    if parts.off:
        return []
    return [
        piece
        for piece in parts.pieces
        if piece.text.strip() and (rest or piece.place is not PiecePosition.END)
    ]


def _split(view: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    """Return the system prompt of a view, and the rest."""
    leading = system_prefix([item.message for item in view])
    return view[:leading], view[leading:]


# Who contributed ---------------------------------------------------------------------------------------


def tool_tokens(tool: OfferedTool, counter: TokenCounter) -> int:
    """Return the tokens of the definition of a tool."""
    return counter.count_text(json.dumps(tool.definition("anthropic"), ensure_ascii=False))


def _message_contributions(items: Sequence[Item], counter: TokenCounter) -> Iterator[Contribution]:
    task = last_user_message(items)
    for item in items:
        section = TASK if item is task else OBSERVATIONS if any(item.message.results) else HISTORY
        trust = item.message.trust
        rules = rules_text(item.message)
        pinned = counter.count_text(rules) if rules else 0
        if pinned:
            yield _whole(PINNED, f"{item.id}, rules", rules_trust(rules), pinned)
        yield _whole(section, item.id, trust, counter.count(item.message) - pinned)


def _headings(
    section: Section, texts: Sequence[str], inside: Sequence[Contribution], counter: TokenCounter
) -> Iterator[Contribution]:
    """Yield the tokens of headings and tags around pieces: everything written minus the pieces."""
    around = sum(map(counter.count_text, texts)) - sum(contribution.given for contribution in inside)
    if around > 0:
        yield _whole(section, HEADINGS, max(section.least, Trust.SEMI_TRUSTED), around)


def _whole(section: Section, source: str, trust: Trust, tokens: int) -> Contribution:
    """Return the contribution of a source that got all it asked for."""
    return Contribution(section, source, trust, tokens, tokens)
