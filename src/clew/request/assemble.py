"""Build a request from a session's view and the pieces that other parts of clew want to add to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clew.message import Item, Message, Origin, Role, Trust, lowest
from clew.request.clauses import DATA_SOURCE
from clew.request.ending import end_message, system_blocks
from clew.request.fence import Fence, fence_results, needed
from clew.request.piece import Contribution, Piece
from clew.request.request import Assembled, Offered
from clew.request.room import Room, admitted
from clew.request.sections import (
    CONTRACT,
    HISTORY,
    OBSERVATIONS,
    POLICY,
    REMINDERS,
    TASK,
    TOOLS,
    Place,
    Section,
)
from clew.tokens import TokenCounter

HEADINGS = "headings"
"""Source name for text the harness itself writes around pieces (headings, tags)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that goes into a request."""

    view: Sequence[Item] = ()
    """``Session.view()``. Its leading system messages are the system prompt."""
    pieces: Sequence[Piece] = ()
    tools: Sequence[Offered] = ()
    """Keep the order fixed between requests: a changed list of tools invalidates the prompt cache."""
    fence: Fence | None = None
    """Required if any piece is data (trust SEMI_TRUSTED or below)."""
    room: Room = field(default_factory=Room)
    off: bool = False
    """Add nothing: the request is what a plain client would send."""
    fence_results: bool = False
    """Also put fences around the text of tool results."""


def assemble(parts: Parts, counter: TokenCounter) -> Assembled:
    """Return the request made of these parts. Deterministic: equal parts give an equal request."""
    prompt, rest = _split(parts.view)
    inside, told = admitted(_wanted(parts, rest), parts.room, counter.count_text)
    messages = [item.message for item in rest]
    fencing = parts.fence_results and not parts.off
    if fencing:
        messages = fence_results(messages, needed(parts.fence))
    stable = [piece for piece in inside if piece.place is Place.SYSTEM]
    late = [piece for piece in inside if piece.place is Place.END]
    added = system_blocks(stable, parts.fence)
    end = end_message(late, parts.fence, announced=any(one.source == DATA_SOURCE for one in stable))
    first = [one for one in told if one.section.place is Place.SYSTEM and not one.late]
    last = [one for one in told if one.section.place is Place.END or one.late]
    contributions = (
        *_tools(parts.tools, counter),
        *(_whole(POLICY, item.id, Trust.SYSTEM, counter.count(item.message)) for item in prompt),
        *first,
        *_headings(CONTRACT, [block.text for block in added], first, counter),
        *_said([Item(item.id, message) for item, message in zip(rest, messages, strict=True)], counter),
        *last,
        *_headings(REMINDERS, [end.text] if end else [], last, counter),
    )
    prompts = tuple(item.message for item in prompt)
    return Assembled(
        prompts,
        tuple(added),
        tuple(messages),
        end,
        tuple(parts.tools),
        contributions,
        plain=not (inside or fencing),
    )


def _wanted(parts: Parts, rest: Sequence[Item]) -> list[Piece]:
    """Return the non-empty pieces; without any message, END pieces have nothing to follow and are dropped."""
    if parts.off:
        return []
    return [piece for piece in parts.pieces if piece.text.strip() and (rest or piece.place is not Place.END)]


def _split(view: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    leading = 0
    while leading < len(view) and view[leading].message.role in (Role.SYSTEM, Role.DEVELOPER):
        leading += 1
    return view[:leading], view[leading:]


# Who contributed ---------------------------------------------------------------------------------------


def _tools(tools: Sequence[Offered], counter: TokenCounter) -> Iterator[Contribution]:
    for tool in tools:
        definition = json.dumps(tool.definition("anthropic"), ensure_ascii=False)
        yield _whole(TOOLS, tool.name, Trust.DEVELOPER, counter.count_text(definition))


def _said(items: Sequence[Item], counter: TokenCounter) -> Iterator[Contribution]:
    task = _task(items)
    for item in items:
        section = TASK if item.id == task else _section_of(item.message)
        trust = lowest(part.trust for part in item.message.parts)
        yield _whole(section, item.id, trust, counter.count(item.message))


def _headings(
    section: Section, texts: Sequence[str], inside: Sequence[Contribution], counter: TokenCounter
) -> Iterator[Contribution]:
    """Yield the tokens of headings and tags around pieces: everything written minus the pieces."""
    around = sum(map(counter.count_text, texts)) - sum(one.given for one in inside)
    if around > 0:
        yield _whole(section, HEADINGS, max(section.least, Trust.SEMI_TRUSTED), around)


def _whole(section: Section, source: str, trust: Trust, tokens: int) -> Contribution:
    return Contribution(section, source, trust, tokens, tokens)


def _task(items: Sequence[Item]) -> str | None:
    """Return the id of the message that says what to do now: the last one the user wrote."""
    for item in reversed(items):
        message = item.message
        if message.role is Role.USER and message.origin is Origin.SPOKEN and not any(message.results):
            return item.id
    return None


def _section_of(message: Message) -> Section:
    return OBSERVATIONS if any(message.results) else HISTORY
