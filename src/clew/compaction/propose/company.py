"""What a subject is named among: what else came with it, and how close it is to what people speak of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from operator import attrgetter
from typing import TypeAlias

from clew.compaction.propose.subjects import Subject
from clew.ledger.values import Value

Measures: TypeAlias = tuple[int, float, float, float, int, int, int, float, float]
"""How many messages ago a subject was named last, and which share of the session that is; at which share it
was named first, and how far apart the two are; the characters of its name; how many values were first named
with it, and how many last; of all that is called by the words in its name, the share that was spoken of, and
where in the session that was last: 1 is now."""


class Company:
    """All that a session names."""

    def __init__(self, values: Iterable[Value]) -> None:
        """Count what was named together, and which words names are made of."""
        held = list(values)
        self.length = 1 + max((value.last_index for value in held), default=0)
        """Of the session, in messages."""
        self._first = Counter([value.first_index for value in held])
        self._last = Counter([value.last_index for value in held])
        named = Counter(chain.from_iterable([value.pieces for value in held]))
        spoken = [value for value in held if value.is_spoken]
        spoken.sort(key=attrgetter("last_index"))
        latest = {piece: value.last_index for value in spoken for piece in value.pieces}
        counted = Counter(chain.from_iterable([value.pieces for value in spoken]))
        self._kin = {piece: (counted[piece] / named[piece], at) for piece, at in latest.items()}
        """Of each word of names: which share of what is called so was spoken of, and where last."""

    def of(self, subject: Subject) -> Measures:
        """Measure where a subject stands in the session, and what it is named among."""
        pieces, kin, length = subject.pieces, self._kin, self.length
        share = recent = 0.0
        for piece in pieces:
            if piece in kin:
                spoken, at = kin[piece]
                share += spoken
                recent += at
        words = len(pieces) or 1
        first, last = subject.first_index, subject.last_index
        age = length - last
        return (
            age,
            age / length,
            first / length,
            (last - first) / length,
            len(subject.text),
            self._first[first],
            self._last[last],
            share / words,
            recent / (words * length),
        )
