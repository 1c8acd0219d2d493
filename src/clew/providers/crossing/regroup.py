"""Put calls, answers and speakers into the order that a target takes.

Everything moves as pieces: a part with the place it came from. Where nothing has to move, the pieces of
a message come out together again and the message itself goes out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from clew.message import Media, Message, Part, Role, Text, ToolCall, ToolResult
from clew.message.atoms import Place
from clew.providers.crossing.carry import Crossing
from clew.providers.crossing.losses import LossKind

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


def regroup(drafts: Sequence[Draft], crossing: Crossing) -> list[Draft]:
    """Return the drafts in the target's order, every answer next to its call."""
    drafts = [_without_orphans(draft, crossing) for draft in drafts]
    answers = _answers_by_message(drafts, crossing)
    ends = _ends_of_answers(drafts)
    dangling = frozenset(crossing.pairing.dangling)
    out: list[Draft] = []
    run: list[Draft] = []
    for i, draft in enumerate(drafts):
        if draft.role is Role.ASSISTANT:
            run.append(draft)
            continue
        if run:
            out += _closed(run, answers, dangling, crossing, ends[i])
            run = []
        out.append(_without_paired(draft, crossing))
    if run:
        out += _closed(run, answers, dangling, crossing, len(drafts))
    return out


def _answers_by_message(drafts: Iterable[Draft], crossing: Crossing) -> dict[int, list[Piece]]:
    """Return the answers to the calls of each message by its index, where they must follow it."""
    answers: defaultdict[int, list[Piece]] = defaultdict(list)
    for draft in drafts if crossing.to.answers_follow else ():
        for piece in draft.pieces:
            if is_answer(piece.part) and piece.place in crossing.pairing.answers:
                answers[crossing.pairing.answers[piece.place].message].append(piece)
    return answers


def _ends_of_answers(drafts: Sequence[Draft]) -> list[int]:
    """Return for each place where the answers from there on end and something else is said."""
    ends = list(range(len(drafts) + 1))
    for i in reversed(range(len(drafts))):
        if all(is_answer(piece.part) for piece in drafts[i].pieces):
            ends[i] = ends[i + 1]
    return ends


def _closed(
    run: Sequence[Draft],
    answers: dict[int, list[Piece]],
    dangling: frozenset[Place],
    crossing: Crossing,
    end: int,
) -> Iterator[Draft]:
    """Yield the assistant's messages, then the answers to all their calls."""
    calls = [piece for draft in run for piece in draft.pieces if is_call(piece.part)]
    batch = sorted((p for draft in run for i in draft.sources for p in answers.get(i, ())), key=_place)
    for piece in batch:
        if piece.place.message > end:
            crossing.lose(piece.place, LossKind.MOVED, "the answer came later and stands next to its call")
    batch += _made_up([piece for piece in calls if piece.place in dangling], crossing)
    run = [_without_paired(draft, crossing) for draft in run]
    if calls and len(run) > 1 and crossing.to.answers_follow:
        run = [Draft(Role.ASSISTANT, tuple(piece for draft in run for piece in draft.pieces))]
    yield from (_calls_last(draft) if crossing.to.calls_last else draft for draft in run)
    if batch:
        yield Draft(Role.TOOL, tuple(batch))


def _place(piece: Piece) -> Place:
    return piece.place


def _calls_last(draft: Draft) -> Draft:
    return replace(draft, pieces=tuple(sorted(draft.pieces, key=lambda piece: is_call(piece.part))))


def _made_up(dangling: Iterable[Piece], crossing: Crossing) -> Iterator[Piece]:
    """Yield an answer for each call that nothing answers."""
    for place, part in dangling:
        crossing.lose(place, LossKind.DANGLING, "nothing answers this call")
        if crossing.choices.repair and isinstance(part, ToolCall):
            failed = crossing.to.error_flag
            yield Piece(place, ToolResult(part.call_id, (Text(NO_RESULT),), failed, part.name))


def _without_paired(draft: Draft, crossing: Crossing) -> Draft:
    """Return what is left of a message once the answers stand next to their calls."""
    if not crossing.to.answers_follow:
        return draft
    kept = [p for p in draft.pieces if not is_answer(p.part) or p.place not in crossing.pairing.answers]
    return replace(draft, pieces=tuple(kept))


def _without_orphans(draft: Draft, crossing: Crossing) -> Draft:
    """Return a message with each result that answers nothing told in words."""
    pieces: list[Piece] = []
    for piece in draft.pieces:
        if not is_answer(piece.part) or piece.place in crossing.pairing.answers:
            pieces.append(piece)
            continue
        crossing.lose(piece.place, LossKind.ORPHAN, "it answers no call of this history")
        pieces += _in_words(piece, draft.role, crossing) if crossing.choices.repair else [piece]
    return replace(draft, pieces=tuple(pieces))


def _in_words(piece: Piece, role: Role, crossing: Crossing) -> Iterator[Piece]:
    """Yield a result as words, with its media beside them where the speaker may show some."""
    if not isinstance(piece.part, ToolResult):
        return
    yield Piece(piece.place, Text(f"{NO_CALL}\n{piece.part.text}".rstrip(), trust=piece.part.trust))
    speaker = Role.ASSISTANT if role is Role.ASSISTANT else Role.USER
    for inner in piece.part.parts:
        if not isinstance(inner, Media):
            continue
        if crossing.to.takes_media(inner, speaker):
            yield Piece(piece.place, inner)
        else:
            crossing.lose(piece.place, LossKind.MEDIA, f"the {speaker} shows none; a note stands for it")
            yield Piece(piece.place, Text(f"[{inner.media_type or inner.kind}]", trust=inner.trust))


# Neighbours ------------------------------------------------------------------------------------------


def merge_neighbours(drafts: Iterable[Draft], messages: Sequence[Message], crossing: Crossing) -> list[Draft]:
    """Join neighbours of one speaker where the target wants them joined.

    Messages that came in the target's format as neighbours stay so: its API joins them itself.
    """
    groups: list[list[Draft]] = []
    for draft in drafts:
        last = groups[-1][-1] if groups else None
        if last and _one_speaker(last, draft) and _joins(last, draft, messages, crossing):
            groups[-1].append(draft)
        else:
            groups.append([draft])
    return [group[0] if len(group) == 1 else _one(group) for group in groups]


def _one_speaker(a: Draft, b: Draft) -> bool:
    spoken = (Role.USER, Role.TOOL)
    return a.role is b.role is Role.ASSISTANT or (a.role in spoken and b.role in spoken)


def _joins(a: Draft, b: Draft, messages: Sequence[Message], crossing: Crossing) -> bool:
    if not crossing.to.alternates:
        return False
    foreign = any(not crossing.to.native(messages[i].native) for i in a.sources | b.sources)
    return foreign or bool(a.sources & b.sources)


def _one(group: Sequence[Draft]) -> Draft:
    pieces = [piece for draft in group for piece in draft.pieces]
    if group[0].role is Role.ASSISTANT:
        return Draft(Role.ASSISTANT, tuple(pieces))
    pieces.sort(key=lambda piece: not is_answer(piece.part))
    return Draft(Role.TOOL if all(is_answer(piece.part) for piece in pieces) else Role.USER, tuple(pieces))
