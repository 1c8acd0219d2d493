"""Put calls, answers and speakers into the order that a target takes.

Everything moves as pieces: a part with the place it came from. Where nothing has to move, the pieces of
a message come out together again and the message itself goes out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from clew.message import Media, Message, Pairing, Part, Role, Text, ToolCall, ToolResult
from clew.message.atoms import Place
from clew.wire.crossing.carry import Crossing
from clew.wire.crossing.losses import LossKind

NO_RESULT = "[no result: this call was never answered]"
NO_CALL = "[result of a call that is not in this history]"


class Piece(NamedTuple):
    """A part, and where it came from."""

    place: Place
    part: Part


@dataclass(frozen=True, slots=True)
class Draft:
    """A message in the making."""

    role: Role
    pieces: tuple[Piece, ...]

    @property
    def sources(self) -> set[int]:
        """Return the indices of the messages it is made of."""
        return {piece.place.message for piece in self.pieces}


def is_call(part: Part) -> bool:
    """Tell whether this is a call that the caller's own tools answer."""
    return isinstance(part, ToolCall) and not part.server_side


def is_answer(part: Part) -> bool:
    """Tell whether this is the answer of a tool of the caller's."""
    return isinstance(part, ToolResult) and not part.server_side


Answers = dict[int, list[Piece]]
"""The answers to the calls of each message, by its index."""


def regroup(drafts: Sequence[Draft], pairing: Pairing, crossing: Crossing) -> list[Draft]:
    """Return the drafts in the target's order, every answer next to its call."""
    drafts = [_without_orphans(draft, pairing, crossing) for draft in drafts]
    answers = _answers_by_message(drafts, pairing)
    out: list[Draft] = []
    run: list[Draft] = []
    for i, draft in enumerate(drafts):
        if draft.role is Role.ASSISTANT:
            run.append(draft)
            continue
        out += _closed(run, answers, pairing, crossing, _end_of_answers(drafts, i))
        run = []
        out.append(_without_paired(draft, pairing) if crossing.to.answers_follow else draft)
    out += _closed(run, answers, pairing, crossing, len(drafts))
    return out


def _answers_by_message(drafts: Iterable[Draft], pairing: Pairing) -> Answers:
    """Return the answers to the calls of each message, in the order they came."""
    answers: defaultdict[int, list[Piece]] = defaultdict(list)
    for draft in drafts:
        for piece in draft.pieces:
            if is_answer(piece.part) and piece.place in pairing.answers:
                answers[pairing.answers[piece.place].message].append(piece)
    return answers


def _end_of_answers(drafts: Sequence[Draft], start: int) -> int:
    """Return where the answers that follow a run of the assistant's end and something else is said."""
    end = start
    while end < len(drafts) and all(is_answer(piece.part) for piece in drafts[end].pieces):
        end += 1
    return end


def _closed(
    run: Sequence[Draft], answers: Answers, pairing: Pairing, crossing: Crossing, end: int
) -> Iterator[Draft]:
    """Yield the assistant's messages, then the answers to all their calls."""
    calls = [piece for draft in run for piece in draft.pieces if is_call(piece.part)]
    batch: list[Piece] = []
    if crossing.to.answers_follow:
        batch = sorted((p for draft in run for i in draft.sources for p in answers.get(i, ())), key=_place)
        run = [_without_paired(draft, pairing) for draft in run]
        run = _joined(run) if calls and len(run) > 1 else run
    yield from (_calls_last(draft) if crossing.to.calls_last else draft for draft in run)
    for piece in batch:
        if piece.place.message > end:
            crossing.lose(piece.place, LossKind.MOVED, "the answer came later and stands next to its call")
    dangling = set(pairing.dangling)
    batch += _made_up([piece for piece in calls if piece.place in dangling], crossing)
    if batch:
        yield Draft(Role.TOOL, tuple(batch))


def _place(piece: Piece) -> Place:
    return piece.place


def _joined(run: Sequence[Draft]) -> list[Draft]:
    return [Draft(Role.ASSISTANT, tuple(piece for draft in run for piece in draft.pieces))]


def _calls_last(draft: Draft) -> Draft:
    return replace(draft, pieces=tuple(sorted(draft.pieces, key=lambda piece: is_call(piece.part))))


def _made_up(dangling: Iterable[Piece], crossing: Crossing) -> Iterator[Piece]:
    """Yield an answer for each call that nothing answers."""
    for place, part in dangling:
        crossing.lose(place, LossKind.DANGLING, "nothing answers this call")
        if crossing.choices.repair and isinstance(part, ToolCall):
            failed = crossing.to.error_flag
            yield Piece(place, ToolResult(part.call_id, (Text(NO_RESULT),), failed, part.name))


def _without_paired(draft: Draft, pairing: Pairing) -> Draft:
    """Return what is left of a message once the answers stand next to their calls."""
    return replace(
        draft,
        pieces=tuple(p for p in draft.pieces if p.place not in pairing.answers or not is_answer(p.part)),
    )


def _without_orphans(draft: Draft, pairing: Pairing, crossing: Crossing) -> Draft:
    """Return a message with each result that answers nothing as words."""
    pieces: list[Piece] = []
    told = False
    for piece in draft.pieces:
        if not is_answer(piece.part) or piece.place in pairing.answers:
            pieces.append(piece)
            continue
        crossing.lose(piece.place, LossKind.ORPHAN, "it answers no call of this history")
        told = told or crossing.choices.repair
        pieces += _in_words(piece) if crossing.choices.repair else [piece]
    return Draft(Role.USER if told and draft.role is Role.TOOL else draft.role, tuple(pieces))


def _in_words(piece: Piece) -> Iterator[Piece]:
    if isinstance(piece.part, ToolResult):
        yield Piece(piece.place, Text(f"{NO_CALL}\n{piece.part.text}".rstrip(), trust=piece.part.trust))
        yield from (Piece(piece.place, inner) for inner in piece.part.parts if isinstance(inner, Media))


# Neighbours ------------------------------------------------------------------------------------------


def merge_neighbours(drafts: Iterable[Draft], messages: Sequence[Message], crossing: Crossing) -> list[Draft]:
    """Join neighbours of one speaker where the target wants them joined.

    Messages that came in the target's format as neighbours stay so: its API joins them itself.
    """
    out: list[Draft] = []
    for draft in drafts:
        if out and _one_speaker(out[-1], draft) and _joins(out[-1], draft, messages, crossing):
            out[-1] = _both(out[-1], draft)
        else:
            out.append(draft)
    return out


def _one_speaker(a: Draft, b: Draft) -> bool:
    spoken = (Role.USER, Role.TOOL)
    return a.role is b.role is Role.ASSISTANT or (a.role in spoken and b.role in spoken)


def _joins(a: Draft, b: Draft, messages: Sequence[Message], crossing: Crossing) -> bool:
    if not crossing.to.alternates:
        return False
    foreign = any(not crossing.to.native(messages[i].native) for i in a.sources | b.sources)
    return foreign or bool(a.sources & b.sources)


def _both(a: Draft, b: Draft) -> Draft:
    pieces = (*a.pieces, *b.pieces)
    if a.role is Role.ASSISTANT:
        return Draft(a.role, pieces)
    pieces = tuple(sorted(pieces, key=lambda piece: not is_answer(piece.part)))
    return Draft(Role.TOOL if all(is_answer(piece.part) for piece in pieces) else Role.USER, pieces)
