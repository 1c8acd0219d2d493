"""Divide the room for recent messages among them: how many tokens each message and each result gets.

Every message gets its faded size. Messages that the model has not answered come next, then the results that
the next steps need, by their weights (``needs.py``), then small messages, then large ones, newest first. One
message may hold the results of many calls, so what a result gets back is also known part by part::

    allotments([900, 40], [60, 40], room=700, unread=2, needs={Place(0, 1): Need(500, 3.0)})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import sub
from typing import NamedTuple

from clew.compaction.propose.tail import (
    KEPT_SHARE,
    RESULT_TOKENS,
    between,
    unread_room,
    water_level,
)
from clew.message import Message, Part, Place, Thinking

SMALL_SHARE = 0.05
"""Share of the rest up to which a message gets back all it lost before any giant gets more..."""
LARGEST_SHARE = 0.2
"""...and share that a giant gets back before others have had theirs."""
NEEDED_SHARE = (0.0, 0.8)
"""Share of the rest of a small and of a large room that the results which the next steps need get first
(``bench/next_edits.py``). In a small room that would be a few lines of each."""
WORTH_AN_EXCERPT = 60
"""Tokens: a message that cannot get back this many stays faded."""


class Need(NamedTuple):
    """What a part lost that the next steps need."""

    tokens: int
    weight: float


class Allotment(NamedTuple):
    """What recent messages get of a room."""

    messages: list[int]
    """The tokens of each message."""
    parts: dict[Place, int]
    """The tokens that a needed part gets beyond its faded size."""


def allotments(
    sizes: Sequence[int],
    faded: Sequence[int],
    room: int,
    unread: int,
    verbatim: int | None = None,
    needs: Mapping[Place, Need] | None = None,
) -> Allotment | None:
    """Divide a room among recent messages; return None if it is too small for a line or two of each.

    Those from the index ``verbatim`` on stay whole; ``unread`` is the index of the first message that the
    model has not answered. A giant does not take the room of many small results.
    """
    first = len(sizes) if verbatim is None else verbatim
    whole = list(sizes[first:])
    given = _floors(sizes[:first], faded[:first], room - sum(whole), min(unread, first))
    if given is None and whole:
        return allotments(sizes, faded, room, unread, needs=needs)
    if given is None:
        return None
    given += whole
    left = room - sum(given)
    parts: dict[Place, int] = {}
    if needs:
        shared = int(left * between(NEEDED_SHARE, room / KEPT_SHARE[0]))
        parts = _shared(needs, shared)
        for (i, _), wanted in parts.items():
            back = min(wanted, sizes[i] - given[i])
            given[i] += back
            left -= back
    _restored(sizes, given, left, list(reversed(range(len(sizes)))))
    return Allotment(given, parts)


def _shared(needs: Mapping[Place, Need], room: int) -> dict[Place, int]:
    """Return what each result gets back of a room: all it lost, or a share by its weight."""
    waiting = {place: need for place, need in needs.items() if need.weight and need.tokens > 0}
    given: dict[Place, int] = {}
    share = 0.0
    while waiting:
        share = room / sum(need.weight for need in waiting.values())
        whole = [place for place, need in waiting.items() if need.tokens <= share * need.weight]
        if not whole:
            break
        for place in whole:
            given[place] = waiting.pop(place).tokens
            room -= given[place]
    backs = {place: int(share * need.weight) for place, need in waiting.items()}
    return given | {place: back for place, back in backs.items() if back >= WORTH_AN_EXCERPT}


def _restored(sizes: Sequence[int], given: list[int], room: int, order: Sequence[int]) -> int:
    """Give messages back what they lost, in this order as far as the room reaches; return what is left."""
    left = room
    for share, whole_only in ((SMALL_SHARE, True), (LARGEST_SHARE, False), (1.0, False)):
        lost = list(map(sub, sizes, given))
        for i in order if share < 1.0 else sorted(order, key=lost.__getitem__):
            wanted = lost[i]
            if not wanted:
                continue
            back = int(min(wanted, room * share, left))
            if back == wanted or (back >= WORTH_AN_EXCERPT and not whole_only):
                given[i] += back
                left -= back
    return left


def _floors(sizes: Sequence[int], faded: Sequence[int], room: int, unread: int) -> list[int] | None:
    """Return what each message gets in any case: its faded size, or more if it is unanswered."""
    level = water_level(sizes[unread:], unread_room(sum(sizes[unread:]), room))
    least = (max(least, RESULT_TOKENS) for least in faded[unread:])
    new = [min(size, max(level, lowest)) for size, lowest in zip(sizes[unread:], least, strict=True)]
    level = water_level(faded[:unread], room - sum(new))
    if sum(faded[:unread]) + sum(new) > room and level < RESULT_TOKENS:
        return None
    return [*[min(size, level) for size in faded[:unread]], *new]


def part_levels(
    message: Message, tokens: int, count: Callable[[Part], int], least: Mapping[int, int] | None = None
) -> list[int]:
    """Return the most tokens of each part for the message to take at most ``tokens``.

    All have one level, but those in ``least`` have at least so many tokens, as far as they fit.
    """
    sizes = [0 if isinstance(part, Thinking) else count(part) for part in message.parts]
    wanted = {number: min(sizes[number], most) for number, most in (least or {}).items()}
    others = sum(min(size, RESULT_TOKENS) for number, size in enumerate(sizes) if number not in wanted)
    most = water_level(list(wanted.values()), max(0, tokens - others))
    levels = {number: min(size, most) for number, size in wanted.items()}
    level = _level_above(sizes, levels, tokens)
    return [max(level, levels.get(number, 0)) for number in range(len(sizes))]


def _level_above(sizes: Sequence[int], least: Mapping[int, int], room: int) -> int:
    """Return the largest level of all parts at which they fit; some have at least so much in any case."""
    fixed = dict(least)
    while True:
        rising = [size for number, size in enumerate(sizes) if number not in fixed]
        level = water_level(rising, room - sum(fixed.values())) if rising else room
        lower = [number for number, size in fixed.items() if size < min(level, sizes[number])]
        if not lower:
            return level
        del fixed[min(lower, key=fixed.__getitem__)]  # it rises with the others
