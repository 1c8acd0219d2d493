"""Collapse large batches of open work to a few lines; a person can close a collapsed batch as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from clew.ledger.loop import Loop, LoopKind

MOST_AT_ONCE = 20
"""Open loops of one kind from one message above which the rest is collapsed to one line..."""
MOST_OF_A_KIND = 60
"""...and open loops of one kind from all messages above which the middle is collapsed."""
FIRST_TOLD = 10
"""How many loops of a batch are listed one by one..."""
LAST_TOLD = 40
"""...and, if it accumulated over several messages, how many of the latest. All four chosen by hand."""
TO = ".."
"""Separator between the first and the last id of a collapsed batch."""
_PLURAL = {
    LoopKind.TODO: "tasks",
    LoopKind.REQUEST: "requests",
    LoopKind.QUESTION: "questions",
    LoopKind.ASKED: "questions of the model",
    LoopKind.PROMISE: "announced steps",
    LoopKind.TEST: "failing tests",
}


class Told(NamedTuple):
    """A listed loop and the loops that it represents: itself, or the rest of a batch."""

    loop: Loop
    stands_for: tuple[Loop, ...]


def in_few_words(loops: Iterable[Loop]) -> list[Told]:
    """Return the lines to list for open loops, in their order.

    The line for the rest of a batch has their exact number, first and last id, and source messages.
    """
    told: list[Told] = []
    for _, flood in groupby(loops, key=lambda loop: (loop.kind, loop.source.message)):
        told += _at_once(tuple(flood))
    for kind, count in Counter(one.loop.kind for one in told).items():
        if count > MOST_OF_A_KIND:
            told = _bit_by_bit(told, kind)
    return told


def _at_once(flood: Sequence[Loop]) -> list[Told]:
    """Collapse loops of one kind that one message opened."""
    if len(flood) <= MOST_AT_ONCE:
        return [Told(loop, (loop,)) for loop in flood]
    rest = flood[FIRST_TOLD:]
    return [*(Told(loop, (loop,)) for loop in flood[:FIRST_TOLD]), _as_one(rest, rest[0].source.message)]


def _bit_by_bit(told: Sequence[Told], kind: LoopKind) -> list[Told]:
    """Collapse the loops of one kind in the middle of the list."""
    places = [place for place, one in enumerate(told) if one.loop.kind is kind]
    middle = places[FIRST_TOLD:-LAST_TOLD]
    rest = [loop for place in middle for loop in told[place].stands_for]
    as_one = _as_one(rest, f"{rest[0].source.message} to {rest[-1].source.message}")
    left_out = frozenset(middle[1:])
    return [as_one if i == middle[0] else one for i, one in enumerate(told) if i not in left_out]


def _as_one(rest: Sequence[Loop], where: str) -> Told:
    first, name = rest[0], f"{rest[0].id}{TO}{rest[-1].id}"
    text = f"and {len(rest)} more {_PLURAL[first.kind]} ({name}), see {where}"
    return Told(Loop(name, first.kind, text, first.source), tuple(rest))
