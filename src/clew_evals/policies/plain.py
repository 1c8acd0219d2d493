"""The plain policies that most tools use in some form, without a model."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from zlib import crc32

from clew.message import Item, Message, Origin, Part, Text, ToolCall, ToolResult, cut_points
from clew_evals.cuts import COUNTER, Cut
from clew_evals.obligations import exchanges
from clew_evals.policies.fit import (
    FRAMING,
    as_summary,
    emptied,
    filled,
    first_tokens,
    last_tokens,
    newest_that_fit,
    shortened,
    without_seals,
)
from clew_evals.reading import PassageSpeaker, passages

LAST_MESSAGES = 8
RESULTS_KEPT = 5
CODEX_TOKENS = 20_000
"""What Codex keeps of the user's messages."""
FRAME_TAIL = 6
"""Messages that ``frame`` keeps."""
CLEARED = "[cleared]"
SHORTEST_LINE = 12
LONGEST_LINE = 300
LONGEST_PIECE = 1_500
"""Characters."""


def last_messages(cut: Cut) -> Sequence[Item]:
    """Keep the last eight messages, whatever they take; a tool call is never parted from its result."""
    items = without_seals(cut.items)
    return items[_start_of_last(items, LAST_MESSAGES) :]


def _start_of_last(items: Sequence[Item], wanted: int) -> int:
    """Return where the last so many messages begin, or earlier if no cut is legal there."""
    points = cut_points([item.message for item in items])
    return max(point for point in points if point <= max(0, len(items) - wanted))


def tail(cut: Cut) -> Sequence[Item]:
    """Keep the newest messages that fit."""
    return newest_that_fit(cut.items, cut.budget_tokens)


def first_and_tail(cut: Cut) -> Sequence[Item]:
    """Keep the first request, at most half of the room, and the newest messages."""
    first = next((passage for passage in passages(cut.items) if passage.speaker is PassageSpeaker.USER), None)
    if first is None:
        return tail(cut)
    item = cut.items[first.turn]
    words = first_tokens(first.text, cut.budget_tokens // 2 - FRAMING)
    opening = Item(item.id, replace(item.message, parts=(Text(words, trust=first.part.trust),), native=None))
    room = cut.budget_tokens - COUNTER.count(opening.message)
    return [opening, *newest_that_fit(cut.items[first.turn + 1 :], room)]


def clear_results(cut: Cut) -> Sequence[Item]:
    """Clear all tool results but the last five, whatever the rest takes."""
    return _cleared(cut.items, RESULTS_KEPT)


def clear_and_trim(cut: Cut) -> Sequence[Item]:
    """Clear all tool results but the last five, then drop the oldest messages until the rest fits."""
    return newest_that_fit(_cleared(cut.items, RESULTS_KEPT), cut.budget_tokens)


def _cleared(items: Sequence[Item], kept: int) -> list[Item]:
    """Empty all tool results but the last so many."""
    results_left = sum(isinstance(part, ToolResult) for item in items for part in item.message.parts)
    shown = []
    for item in items:
        parts: list[Part] = []
        for part in item.message.parts:
            parts.append(emptied(part, CLEARED) if results_left > kept else part)
            results_left -= isinstance(part, ToolResult)
        shown.append(Item(item.id, replace(item.message, parts=tuple(parts), native=None)))
    return shown


def user_messages(cut: Cut) -> Sequence[Item]:
    """Keep what the user said, newest first, at most 20,000 tokens of it, as Codex does."""
    room = min(cut.budget_tokens, CODEX_TOKENS)
    kept: list[Item] = []
    for item in reversed(cut.items):
        asked = [passage for passage in passages([item]) if passage.speaker is PassageSpeaker.USER]
        if not asked or room <= FRAMING:
            continue
        words = last_tokens("\n".join(passage.text for passage in asked), room - FRAMING)
        message = Message(item.message.role, (Text(words, trust=asked[0].part.trust),), item.message.origin)
        room -= COUNTER.count(message)
        kept.append(Item(item.id, message))
    return kept[::-1] or as_summary("")


def user_then_agent(cut: Cut) -> Sequence[Item]:
    """Keep the user's words, then the agent's, then what it typed into calls, newest first, as one text."""
    newest_first = list(passages(cut.items))[::-1]
    calls = [passage for passage in newest_first if isinstance(passage.part, ToolCall)]
    others = [passage for passage in newest_first if not isinstance(passage.part, ToolCall)]
    users = [passage for passage in others if passage.speaker is PassageSpeaker.USER]
    agents = [passage for passage in others if passage.speaker is PassageSpeaker.AGENT]
    pieces = [
        *(passage.text[:LONGEST_PIECE] for passage in users),
        *_earlier_summary(cut.items),
        *(passage.text[:LONGEST_PIECE] for passage in (*agents, *calls)),
    ]
    return as_summary("\n".join(pieces[i] for i in filled(pieces, cut.budget_tokens - FRAMING)))


def _earlier_summary(items: Sequence[Item]) -> Iterator[str]:
    """Yield the lines of the summary that an earlier compaction left."""
    for item in items:
        if item.message.origin is Origin.SUMMARY:
            yield from item.message.text.split("\n")


def frame(cut: Cut) -> Sequence[Item]:
    """List what was said and called, of calls on the same thing the last only; keep the last six messages."""
    items = without_seals(cut.items)
    start = _start_of_last(items, FRAME_TAIL)
    newest = shortened(items[start:], cut.budget_tokens // 2)
    room = cut.budget_tokens - COUNTER.count_all(item.message for item in newest) - FRAMING
    newest_first = [*_earlier_summary(items[:start]), *_conversation_lines(items[:start])][::-1]
    listed = [newest_first[i] for i in filled(newest_first, room)][::-1]
    return [*as_summary("\n".join(listed)), *newest]


def _conversation_lines(items: Sequence[Item]) -> Iterator[str]:
    last = {_line_of(call): call for call, _ in exchanges(items)}
    listed: set[int] = set()
    for passage in passages(items):
        if passage.speaker is PassageSpeaker.USER:
            yield f"User: {passage.text}"
        elif isinstance(passage.part, ToolCall):
            line = _line_of(passage.part)
            if last.get(line) is passage.part and id(passage.part) not in listed:
                listed.add(id(passage.part))
                yield f"  {line}"
        elif passage.speaker is PassageSpeaker.AGENT and isinstance(passage.part, Text):
            yield f"Assistant: {passage.text[:LONGEST_LINE]}"


def _line_of(call: ToolCall) -> str:
    """Return the tool and what the call is about, its first short argument: ``Edit src/shop/cart.py``."""
    data = call.input or {}
    short = (value for value in data.values() if isinstance(value, str) and 0 < len(value) <= LONGEST_LINE)
    return f"{call.name} {next(short, call.input_text[:LONGEST_LINE])}"


def random_lines(cut: Cut) -> Sequence[Item]:
    """Keep lines drawn at random: what any choice must beat."""
    distinct = dict.fromkeys(line.strip()[:LONGEST_LINE] for line in cut.readable.text.split("\n"))
    lines = [line for line in distinct if len(line) >= SHORTEST_LINE]
    order = list(range(len(lines)))
    random.Random(crc32(cut.session.encode())).shuffle(order)
    drawn = sorted(order[i] for i in filled((lines[i] for i in order), cut.budget_tokens - FRAMING))
    return as_summary("\n".join(lines[i] for i in drawn))
