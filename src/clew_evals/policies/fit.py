"""Making texts and messages fit a budget of tokens; ``room`` is always in tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from clew.message import Item, Message, Origin, Part, Role, Text, Thinking, ToolCall, ToolResult, Trust, atoms
from clew_evals.sessions import COUNTER

FRAMING = 8
"""Tokens that a message takes beyond its words, at most."""
NOTHING = "(nothing)"
"""Said if nothing is kept: no provider takes an empty history."""


def as_summary(text: str) -> tuple[Item, ...]:
    """Return a text as the one message that replaces a history."""
    part = Text(text if text.strip() else NOTHING, trust=Trust.UNTRUSTED)
    return (Item("summary", Message(Role.USER, (part,), Origin.SUMMARY)),)


def first_tokens(text: str, room: int) -> str:
    """Return the beginning of a text, at most so many tokens of it."""
    return _cut(text, room, from_end=False)


def last_tokens(text: str, room: int) -> str:
    """Return the end of a text, at most so many tokens of it."""
    return _cut(text, room, from_end=True)


def _cut(text: str, room: int, *, from_end: bool) -> str:
    if room <= 0:
        return ""
    size = COUNTER.count_text(text)
    while size > room:  # a share of the characters is about the same share of the tokens
        keep = int(len(text) * room / size * 0.98)
        text = text[len(text) - keep :] if from_end else text[:keep]
        size = COUNTER.count_text(text)
    return text


def indices_that_fit(pieces: Iterable[str], room: int, separator: str = "\n") -> list[int]:
    """Return the indices of the pieces that fit, tried in this order; one that is too long is passed over."""
    fitting = []
    extra = COUNTER.count_text(separator)
    for i, piece in enumerate(pieces):
        cost = COUNTER.count_text(piece) + extra
        if cost <= room:
            fitting.append(i)
            room -= cost
    return fitting


def with_empty_result(part: Part, text: str) -> Part:
    """Return a tool result with this text in place of its output; any other part as it is."""
    if not isinstance(part, ToolResult):
        return part
    return replace(part, parts=(Text(text, trust=part.trust),), native=None)


MOST_ROUNDS = 40
"""In which messages are shortened, the largest of them in each."""


def without_seals(items: Sequence[Item]) -> list[Item]:
    """Return messages without signed thinking: it binds a whole running loop together, and tools drop it."""
    shown = []
    for item in items:
        parts = tuple(part for part in item.message.parts if not (isinstance(part, Thinking) and part.signed))
        if len(parts) == len(item.message.parts):
            shown.append(item)
        elif parts:
            shown.append(Item(item.id, replace(item.message, parts=parts, native=None)))
    return shown


def newest_that_fit(history: Sequence[Item], room: int) -> tuple[Item, ...]:
    """Return the newest messages that fit, no call parted from its result.

    If not even the newest call with its result fits, what fits of their words.
    """
    items = without_seals(history)
    runs = atoms([item.message for item in items])
    start = len(items)
    for first, stop in reversed(runs):
        size = COUNTER.count_all(item.message for item in items[first:stop])
        if size > room:
            break
        room -= size
        start = first
    if start < len(items) or not runs:
        return tuple(items[start:])
    first, stop = runs[-1]
    return shorten_to_fit(items[first:stop], room)


def shorten_to_fit(items: Sequence[Item], room: int) -> tuple[Item, ...]:
    """Return messages with their longest words cut from the front until they fit."""
    shown = list(items)
    for _ in range(MOST_ROUNDS):
        over = COUNTER.count_all(item.message for item in shown) - room
        if over <= 0:
            break
        largest = max(range(len(shown)), key=lambda i: COUNTER.count(shown[i].message))
        item = shown[largest]
        size = COUNTER.count(item.message)
        smaller = _smaller(item.message, max(size // 2, size - over - FRAMING))
        if smaller == item.message:
            break
        shown[largest] = Item(item.id, smaller)
    return tuple(shown)


def _smaller(message: Message, room: int) -> Message:
    share = max(1, room // max(1, len(message.parts)))
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, Text):
            parts.append(replace(part, text=last_tokens(part.text, share) or "…", native=None))
        elif isinstance(part, ToolResult):
            words = Text(last_tokens(part.text, share) or "…", trust=part.trust)
            parts.append(replace(part, parts=(words,), native=None))
        elif isinstance(part, ToolCall) and COUNTER.count_part(part) > share:
            parts.append(replace(part, arguments={"cut": last_tokens(part.input_text, share)}, native=None))
        else:
            parts.append(part)
    return replace(message, parts=tuple(parts), native=None)
