"""The plain policies that most tools use in some form, without a model.

The first half cuts the past off (``tail`` keeps the newest messages that fit). The second half shortens it
more and more: ``masked`` empties old tool results, ``story_calls_recent`` lists what was asked and called,
``graded`` keeps the beginning and the end of each older message.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from zlib import crc32

from clew.message import Item, Message, Origin, Part, Role, Text, ToolCall, ToolResult, atoms, cut_points
from clew_evals.obligations import exchanges
from clew_evals.passages import PassageSpeaker, Readable, passages, speaker
from clew_evals.policies.fit import (
    FRAMING,
    as_summary,
    first_tokens,
    indices_that_fit,
    last_tokens,
    newest_that_fit,
    shorten_to_fit,
    with_empty_result,
    without_seals,
)
from clew_evals.sessions import COUNTER, Cut
from clew_evals.turns import turns_of

LAST_MESSAGES = 8
"""Messages that ``last_messages`` keeps…"""
FRAME_TAIL = 6
"""…and ``frame``."""
RESULTS_KEPT = 5
"""Tool results that ``clear_results`` and ``clear_and_trim`` keep."""
CODEX_TOKENS = 20_000
"""Tokens of the user's messages that Codex keeps."""
CLEARED = "[cleared]"
SHORTEST_LINE, LONGEST_LINE, LONGEST_PIECE = 12, 300, 1_500
"""Characters of a line that may be drawn, that a line is cut to, and that a message is cut to."""


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
            parts.append(with_empty_result(part, CLEARED) if results_left > kept else part)
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
    return as_summary("\n".join(pieces[i] for i in indices_that_fit(pieces, cut.budget_tokens - FRAMING)))


def _earlier_summary(items: Sequence[Item]) -> Iterator[str]:
    """Yield the lines of the summary that an earlier compaction left."""
    for item in items:
        if item.message.origin is Origin.SUMMARY:
            yield from item.message.text.split("\n")


def frame(cut: Cut) -> Sequence[Item]:
    """List what was said and called, of calls on the same thing the last only; keep the last six messages."""
    items = without_seals(cut.items)
    start = _start_of_last(items, FRAME_TAIL)
    newest = shorten_to_fit(items[start:], cut.budget_tokens // 2)
    room = cut.budget_tokens - COUNTER.count_all(item.message for item in newest) - FRAMING
    newest_first = [*_earlier_summary(items[:start]), *_conversation_lines(items[:start])][::-1]
    listed = [newest_first[i] for i in indices_that_fit(newest_first, room)][::-1]
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
    drawn = sorted(order[i] for i in indices_that_fit((lines[i] for i in order), cut.budget_tokens - FRAMING))
    return as_summary("\n".join(lines[i] for i in drawn))


# Shortening the past ------------------------------------------------------------------------------------

OMITTED = "[old output omitted]"
STORY_SHARE, CALLS_SHARE, FIRST_SHARE = 0.2, 0.2, 1 / 6
"""Shares of the budget for the list of turns, the list of calls and the first request."""
LONGEST_CALL, LONGEST_EDGE = 260, 160
"""Characters that are kept of a call, and of the first and the last line of an output."""
PROSE_TOKENS, ASKED_TOKENS = 260, 400
"""Tokens that are kept of a message of the agent, and of one of the user."""


def masked(cut: Cut) -> Sequence[Item]:
    """Empty the oldest tool results until the rest fits; then drop the oldest messages but the user's."""
    items = without_seals(cut.items)
    sizes = [COUNTER.count(item.message) for item in items]
    over = sum(sizes) - cut.budget_tokens
    for i, item in enumerate(items):
        if over <= 0:
            return items
        if any(item.message.results):
            items[i] = _with_parts(item, [with_empty_result(part, OMITTED) for part in item.message.parts])
            size = COUNTER.count(items[i].message)
            over -= sizes[i] - size
            sizes[i] = size
    kept = []
    for first, stop in atoms([item.message for item in items]):
        run = items[first:stop]
        speakers = [speaker(item.message, part) for item in run for part in item.message.parts]
        if over > 0 and PassageSpeaker.USER not in speakers:
            over -= sum(sizes[first:stop])
        else:
            kept += run
    return kept if over <= 0 and kept else newest_that_fit(kept or items, cut.budget_tokens)


def story_calls_recent(cut: Cut) -> Sequence[Item]:
    """List turns (asked, reported) and calls in a fifth of the room each; keep the newest messages."""
    room = cut.budget_tokens
    asked = first_tokens(_first_request(cut.readable), int(room * FIRST_SHARE))
    story = _newest_lines(list(_story(cut.readable)), int(room * STORY_SHARE))
    calls = _newest_lines(list(_calls(cut.items)), int(room * CALLS_SHARE))
    text = f"First request: {asked}\nStory so far:\n{story}\nCalls so far:\n{calls}"
    head = as_summary(first_tokens(text, room - FRAMING))
    left = room - COUNTER.count_all(item.message for item in head)
    return [*head, *newest_that_fit(cut.items, left)] if left > FRAMING else head


def _story(history: Readable) -> Iterator[str]:
    for turn in turns_of(history.passages):
        yield f"User: {_edges(turn.asked, 300)}"
        if turn.report:
            yield f"Agent {'reported' if turn.ended else 'last said'}: {_edges(turn.report, PROSE_TOKENS)}"


def _calls(items: Sequence[Item]) -> Iterator[str]:
    """Yield a line per call with the first and last line of its result: ``- Bash pytest -> 2 failed``."""
    for call, result in exchanges(items):
        line = f"- {call.name} {call.input_text[:LONGEST_EDGE]}"
        lines = [text.strip() for text in result.text.split("\n") if text.strip()] if result else []
        if lines:
            line += f" -> {' ... '.join(text[:80] for text in dict.fromkeys((lines[0], lines[-1])))}"
        yield line


def _newest_lines(lines: Sequence[str], room: int) -> str:
    kept: list[str] = []
    for line in reversed(lines):
        room -= COUNTER.count_text(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(reversed(kept))


def graded(verbatim: float) -> Callable[[Cut], Sequence[Item]]:
    """Return a policy that keeps the newest in this share of the room and shortens what is older."""
    return partial(_graded, verbatim=verbatim)


def _graded(cut: Cut, verbatim: float) -> Sequence[Item]:
    asked = first_tokens(_first_request(cut.readable), max(60, int(cut.budget_tokens * FIRST_SHARE)))
    head = as_summary(f"First request: {asked}") if asked else ()
    room = cut.budget_tokens - COUNTER.count_all(item.message for item in head)
    items = without_seals(cut.items)
    kept: list[Item] = []
    used = 0
    for first, stop in reversed(atoms([item.message for item in items])):
        run = items[first:stop]
        if used + _size(run) > room * verbatim:
            run = [_shortened(item) for item in run]
        if used + _size(run) > room:
            break
        used += _size(run)
        kept = [*run, *kept]
    return [*head, *kept] if kept else newest_that_fit(cut.items, cut.budget_tokens)


def _shortened(item: Item) -> Item:
    room = ASKED_TOKENS if item.message.role is Role.USER else PROSE_TOKENS
    return _with_parts(item, [_shortened_part(part, room) for part in item.message.parts])


def _shortened_part(part: Part, room: int) -> Part:
    if isinstance(part, ToolResult):
        lines = [line.rstrip() for line in part.text.split("\n") if line.strip()]
        shown = [line[:LONGEST_EDGE] for line in (lines[:1] + lines[1:][-1:])]
        if len(lines) > 2:
            shown.insert(1, f"[... {len(lines) - 2} lines]")
        return replace(part, parts=(Text("\n".join(shown), trust=part.trust),), native=None)
    if isinstance(part, ToolCall) and len(part.input_text) > LONGEST_CALL:
        return replace(part, arguments={"cut": part.input_text[:LONGEST_CALL]}, native=None)
    if isinstance(part, Text):
        return replace(part, text=_edges(part.text, room), native=None)
    return part


def _edges(text: str, room: int) -> str:
    """Return the beginning and the end of a text that is too long."""
    if COUNTER.count_text(text) <= room:
        return text
    return f"{first_tokens(text, room * 2 // 3)} [...] {last_tokens(text, room // 3)}"


def _first_request(history: Readable) -> str:
    return next((passage.text for passage in history.passages if passage.speaker is PassageSpeaker.USER), "")


def _with_parts(item: Item, parts: Sequence[Part]) -> Item:
    return Item(item.id, replace(item.message, parts=tuple(parts), native=None))


def _size(items: Sequence[Item]) -> int:
    return COUNTER.count_all(item.message for item in items)
