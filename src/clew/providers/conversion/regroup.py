"""Put calls, results and roles into the order that a target requires.

For Anthropic, ``[assistant: call a, assistant: call b, user: "and?", tool: result a, tool: result b]``
becomes ``[assistant: calls a and b, user: results a and b, "and?"]``. Parts are moved together with their
original place. If nothing has to move, the pieces of a message stay together and the original message is
used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from clew.message import Media, Message, Part, Role, Text, ToolCall, ToolResult
from clew.message.atoms import Place
from clew.providers.conversion.parts import Conversion
from clew.providers.conversion.targets import ConversionLossKind as Loss

NO_RESULT = "[no result: this call was never answered]"
NO_CALL = "[result of a call that is not in this history]"


class PlacedPart(NamedTuple):
    """A part and its original place."""

    place: Place
    part: Part


@dataclass(frozen=True, slots=True)
class DraftMessage:
    """A message that is being built from pieces."""

    role: Role
    pieces: tuple[PlacedPart, ...]

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


def regroup(drafts: Sequence[DraftMessage], conversion: Conversion) -> list[DraftMessage]:
    """Return the drafts in the target's order, with every result next to its call."""
    drafts = [_without_orphans(draft, conversion) for draft in drafts]
    answers = _answers_by_message(drafts, conversion)
    ends = _ends_of_answers(drafts)
    dangling = frozenset(conversion.pairing.dangling)
    out: list[DraftMessage] = []
    stop = 0
    for by_assistant, group in groupby(drafts, key=lambda draft: draft.role is Role.ASSISTANT):
        run = list(group)
        stop += len(run)
        if by_assistant:  # the results of all their calls follow the last of these messages
            out += _with_results(run, answers, dangling, conversion, ends[stop])
        else:
            out += [_without_paired(draft, conversion) for draft in run]
    return out


def _answers_by_message(
    drafts: Iterable[DraftMessage], conversion: Conversion
) -> dict[int, list[PlacedPart]]:
    """Return the results of each message's calls by its index, if the target requires them to follow it."""
    answers: defaultdict[int, list[PlacedPart]] = defaultdict(list)
    for draft in drafts if conversion.to.answers_follow else ():
        for piece in draft.pieces:
            if is_answer(piece.part) and piece.place in conversion.pairing.answers:
                answers[conversion.pairing.answers[piece.place].message].append(piece)
    return answers


def _ends_of_answers(drafts: Sequence[DraftMessage]) -> list[int]:
    """Return for each index the first index from there on that is not a message of results only."""
    ends = list(range(len(drafts) + 1))
    for i in reversed(range(len(drafts))):
        if all(is_answer(piece.part) for piece in drafts[i].pieces):
            ends[i] = ends[i + 1]
    return ends


def _with_results(
    run: Sequence[DraftMessage],
    answers: dict[int, list[PlacedPart]],
    dangling: frozenset[Place],
    conversion: Conversion,
    end: int,
) -> Iterator[DraftMessage]:
    """Yield the assistant's messages, then the results of all their calls."""
    calls = [piece for draft in run for piece in draft.pieces if is_call(piece.part)]
    batch = sorted(
        (p for draft in run for i in draft.sources for p in answers.get(i, ())), key=attrgetter("place")
    )
    # ``end`` is the first message after the run that has more than results, so results beyond it were moved
    for piece in batch:
        if piece.place.message > end:
            conversion.lose(piece.place, Loss.MOVED, "the result came later and was moved next to its call")
    batch += _placeholder_results([piece for piece in calls if piece.place in dangling], conversion)
    run = [_without_paired(draft, conversion) for draft in run]
    if calls and len(run) > 1 and conversion.to.answers_follow:
        run = [DraftMessage(Role.ASSISTANT, tuple(piece for draft in run for piece in draft.pieces))]
    yield from (_calls_last(draft) if conversion.to.calls_last else draft for draft in run)
    if batch:
        yield DraftMessage(Role.TOOL, tuple(batch))


def _calls_last(draft: DraftMessage) -> DraftMessage:
    return replace(draft, pieces=tuple(sorted(draft.pieces, key=lambda piece: is_call(piece.part))))


def _placeholder_results(dangling: Iterable[PlacedPart], conversion: Conversion) -> Iterator[PlacedPart]:
    """Yield a placeholder result for each call without one."""
    for place, part in dangling:
        conversion.lose(place, Loss.DANGLING, "this call has no result")
        if conversion.choices.repair and isinstance(part, ToolCall):
            failed = conversion.to.error_flag
            yield PlacedPart(place, ToolResult(part.call_id, (Text(NO_RESULT),), failed, part.name))


def _without_paired(draft: DraftMessage, conversion: Conversion) -> DraftMessage:
    """Return a message without the results that are moved next to their calls."""
    if not conversion.to.answers_follow:
        return draft
    kept_parts = [
        p for p in draft.pieces if not is_answer(p.part) or p.place not in conversion.pairing.answers
    ]
    return replace(draft, pieces=tuple(kept_parts))


def _without_orphans(draft: DraftMessage, conversion: Conversion) -> DraftMessage:
    """Return a message with each result that has no call as text."""
    pieces: list[PlacedPart] = []
    for piece in draft.pieces:
        if not is_answer(piece.part) or piece.place in conversion.pairing.answers:
            pieces.append(piece)
            continue
        conversion.lose(piece.place, Loss.ORPHAN, "its call is not in this history")
        pieces += _as_text(piece, draft.role, conversion) if conversion.choices.repair else [piece]
    return replace(draft, pieces=tuple(pieces))


def _as_text(piece: PlacedPart, role: Role, conversion: Conversion) -> Iterator[PlacedPart]:
    """Yield a result as text, followed by its media if the target allows media in that role."""
    if not isinstance(piece.part, ToolResult):
        return
    yield PlacedPart(piece.place, Text(f"{NO_CALL}\n{piece.part.text}".rstrip(), trust=piece.part.trust))
    speaker = Role.ASSISTANT if role is Role.ASSISTANT else Role.USER
    for inner in piece.part.parts:
        if not isinstance(inner, Media):
            continue
        if conversion.to.takes_media(inner, speaker):
            yield PlacedPart(piece.place, inner)
        else:
            conversion.lose(piece.place, Loss.MEDIA, f"not allowed from the {speaker}; replaced by a note")
            yield PlacedPart(piece.place, Text(f"[{inner.media_type or inner.kind}]", trust=inner.trust))


# Neighbours ------------------------------------------------------------------------------------------


def merge_neighbours(
    drafts: Iterable[DraftMessage], messages: Sequence[Message], conversion: Conversion
) -> list[DraftMessage]:
    """Join consecutive messages of one role if the target requires roles to alternate.

    Messages that are consecutive in the target's own format stay separate, because its API merges them.
    """
    groups: list[list[DraftMessage]] = []
    for draft in drafts:
        last = groups[-1][-1] if groups else None
        if last and _one_speaker(last, draft) and _joins(last, draft, messages, conversion):
            groups[-1].append(draft)
        else:
            groups.append([draft])
    return [group[0] if len(group) == 1 else _joined_message(group) for group in groups]


def _one_speaker(a: DraftMessage, b: DraftMessage) -> bool:
    speech = (Role.USER, Role.TOOL)
    return a.role is b.role is Role.ASSISTANT or (a.role in speech and b.role in speech)


def _joins(a: DraftMessage, b: DraftMessage, messages: Sequence[Message], conversion: Conversion) -> bool:
    if not conversion.to.alternates:
        return False
    foreign = any(not conversion.to.is_native(messages[i].native) for i in a.sources | b.sources)
    return foreign or bool(a.sources & b.sources)


def _joined_message(group: Sequence[DraftMessage]) -> DraftMessage:
    pieces = [piece for draft in group for piece in draft.pieces]
    if group[0].role is Role.ASSISTANT:
        return DraftMessage(Role.ASSISTANT, tuple(pieces))
    pieces.sort(key=lambda piece: not is_answer(piece.part))
    return DraftMessage(
        Role.TOOL if all(is_answer(piece.part) for piece in pieces) else Role.USER, tuple(pieces)
    )
