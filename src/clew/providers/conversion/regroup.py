"""Put calls, results and roles into the order that a target requires.

Parts are moved together with their original place. If nothing has to move, the pieces of a message stay
together and the original message is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from clew.message import Media, Message, Part, Role, Text, ToolCall, ToolResult
from clew.message.atoms import Place
from clew.providers.conversion.carry import Crossing
from clew.providers.conversion.targets import LossKind

NO_RESULT = "[no result: this call was never answered]"
NO_CALL = "[result of a call that is not in this history]"


class Piece(NamedTuple):
    """A part and its original place."""

    place: Place
    part: Part


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that is being built from pieces."""

    role: Role
    pieces: tuple[Piece, ...]

    @property
    def sources(self) -> set[int]:
        """Return the indexes of the messages that its pieces come from."""
        return {piece.place.message for piece in self.pieces}


def is_call(part: Part) -> bool:
    """Whether this is a call of a client tool."""
    return isinstance(part, ToolCall) and not part.server_side


def is_answer(part: Part) -> bool:
    """Whether this is the result of a client tool."""
    return isinstance(part, ToolResult) and not part.server_side


def regroup(drafts: Sequence[Draft], crossing: Crossing) -> list[Draft]:
    """Return the drafts in the target's order, with every result next to its call."""
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
    """Return the results of each message's calls by its index, if the target requires them to follow it."""
    answers: defaultdict[int, list[Piece]] = defaultdict(list)
    for draft in drafts if crossing.to.answers_follow else ():
        for piece in draft.pieces:
            if is_answer(piece.part) and piece.place in crossing.pairing.answers:
                answers[crossing.pairing.answers[piece.place].message].append(piece)
    return answers


def _ends_of_answers(drafts: Sequence[Draft]) -> list[int]:
    """Return for each index the first index from there on that is not a message of results only."""
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
    """Yield the assistant's messages, then the results of all their calls."""
    calls = [piece for draft in run for piece in draft.pieces if is_call(piece.part)]
    batch = sorted((p for draft in run for i in draft.sources for p in answers.get(i, ())), key=_place)
    for piece in batch:
        if piece.place.message > end:
            crossing.lose(piece.place, LossKind.MOVED, "the result came later and was moved next to its call")
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
    """Yield a placeholder result for each call without one."""
    for place, part in dangling:
        crossing.lose(place, LossKind.DANGLING, "this call has no result")
        if crossing.choices.repair and isinstance(part, ToolCall):
            failed = crossing.to.error_flag
            yield Piece(place, ToolResult(part.call_id, (Text(NO_RESULT),), failed, part.name))


def _without_paired(draft: Draft, crossing: Crossing) -> Draft:
    """Return a message without the results that are moved next to their calls."""
    if not crossing.to.answers_follow:
        return draft
    kept = [p for p in draft.pieces if not is_answer(p.part) or p.place not in crossing.pairing.answers]
    return replace(draft, pieces=tuple(kept))


def _without_orphans(draft: Draft, crossing: Crossing) -> Draft:
    """Return a message with each result that has no call as text."""
    pieces: list[Piece] = []
    for piece in draft.pieces:
        if not is_answer(piece.part) or piece.place in crossing.pairing.answers:
            pieces.append(piece)
            continue
        crossing.lose(piece.place, LossKind.ORPHAN, "its call is not in this history")
        pieces += _in_words(piece, draft.role, crossing) if crossing.choices.repair else [piece]
    return replace(draft, pieces=tuple(pieces))


def _in_words(piece: Piece, role: Role, crossing: Crossing) -> Iterator[Piece]:
    """Yield a result as text, followed by its media if the target allows media in that role."""
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
            crossing.lose(piece.place, LossKind.MEDIA, f"not allowed from the {speaker}; replaced by a note")
            yield Piece(piece.place, Text(f"[{inner.media_type or inner.kind}]", trust=inner.trust))


# Neighbours ------------------------------------------------------------------------------------------


def merge_neighbours(drafts: Iterable[Draft], messages: Sequence[Message], crossing: Crossing) -> list[Draft]:
    """Join consecutive messages of one role if the target requires roles to alternate.

    Messages that are consecutive in the target's own format stay separate, because its API merges them.
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
