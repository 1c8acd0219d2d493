"""Plain policies that shorten the past more and more instead of cutting it off, without a model.

``masked`` empties old tool results, ``story_calls_recent`` lists what was asked and called, ``graded`` keeps
of each older message its beginning and end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from clew.message import Item, Part, Role, Text, ToolCall, ToolResult, atoms
from clew_evals.cuts import COUNTER, Cut
from clew_evals.obligations import exchanges
from clew_evals.policies.fit import (
    FRAMING,
    as_summary,
    emptied,
    first_tokens,
    last_tokens,
    newest_that_fit,
    without_seals,
)
from clew_evals.reading import PassageSpeaker, Readable, speaker
from clew_evals.turns import turns_of

OMITTED = "[old output omitted]"
STORY_SHARE = CALLS_SHARE = 0.2
FIRST_SHARE = 1 / 6
"""Of the room: for the turns, the calls and the first request."""
LONGEST_CALL = 260
LONGEST_EDGE = 160
"""Characters of a shortened call, and of the first and last line of a shortened output."""
PROSE_TOKENS = 260
ASKED_TOKENS = 400
"""Tokens of what the agent says and of what the user says, shortened."""


def masked(cut: Cut) -> Sequence[Item]:
    """Empty the oldest tool results until the rest fits; then drop the oldest messages but the user's."""
    items = without_seals(cut.items)
    sizes = [COUNTER.count(item.message) for item in items]
    over = sum(sizes) - cut.budget_tokens
    for i, item in enumerate(items):
        if over <= 0:
            return items
        if any(item.message.results):
            items[i] = _with_parts(item, [emptied(part, OMITTED) for part in item.message.parts])
            size = COUNTER.count(items[i].message)
            over -= sizes[i] - size
            sizes[i] = size
    kept = []
    for first, stop in atoms([item.message for item in items]):
        run = items[first:stop]
        if over > 0 and not any(_is_users(item) for item in run):
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


def _is_users(item: Item) -> bool:
    return any(speaker(item.message, part) is PassageSpeaker.USER for part in item.message.parts)


def _with_parts(item: Item, parts: Sequence[Part]) -> Item:
    return Item(item.id, replace(item.message, parts=tuple(parts), native=None))


def _size(items: Sequence[Item]) -> int:
    return COUNTER.count_all(item.message for item in items)
