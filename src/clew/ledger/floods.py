"""Much that is open, told in few words: nothing is lost, and a person can close what is told as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from clew.ledger.loop import Loop, LoopKind

MOST_AT_ONCE = 20
"""Open loops of one kind that one message opened, above which the rest of them are told as one..."""
MOST_OF_A_KIND = 60
"""...and those of a kind at all, above which those in the middle are."""
FIRST_TOLD = 10
"""How many of a flood are told one by one..."""
LAST_TOLD = 40
"""...and of one that came bit by bit, how many of the latest."""
TO = ".."
"""What stands between the first and the last id of what is told as one."""
_PLURAL = {
    LoopKind.TODO: "tasks",
    LoopKind.REQUEST: "requests",
    LoopKind.QUESTION: "questions",
    LoopKind.ASKED: "questions of the model",
    LoopKind.PROMISE: "announced steps",
    LoopKind.TEST: "failing tests",
}


class Told(NamedTuple):
    """A loop as it is told, and those that it stands for: itself, or the rest of a flood."""

    loop: Loop
    stands_for: tuple[Loop, ...]


def in_few_words(loops: Iterable[Loop]) -> list[Told]:
    """Return what is told of open loops, in their order.

    The loop for the rest of a flood says exactly how many they are, their first and last id, and where they
    stand.
    """
    told: list[Told] = []
    for _, flood in groupby(loops, key=lambda loop: (loop.kind, loop.source.message)):
        told += _at_once(tuple(flood))
    for kind, count in Counter(one.loop.kind for one in told).items():
        if count > MOST_OF_A_KIND:
            told = _bit_by_bit(told, kind)
    return told


def _at_once(flood: Sequence[Loop]) -> list[Told]:
    """Return what is told of loops of one kind that one message opened."""
    if len(flood) <= MOST_AT_ONCE:
        return [Told(loop, (loop,)) for loop in flood]
    rest = flood[FIRST_TOLD:]
    return [*(Told(loop, (loop,)) for loop in flood[:FIRST_TOLD]), _as_one(rest, rest[0].source.message)]


def _bit_by_bit(told: Sequence[Told], kind: LoopKind) -> list[Told]:
    """Return the same with those of a kind in the middle told as one."""
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
