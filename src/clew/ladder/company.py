"""What a subject is named among: what else came with it, and how close it is to what people speak of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from clew.ladder.subjects import Subject
from clew.ledger.passages import Voice
from clew.ledger.values import Value

_PIECE = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}(?![a-z])|\d{3,}")
_REMEMBERED = 200_000
_SPOKEN = slice(Voice.USER, Voice.BODY)
"""People, the model's words, and what it types into calls."""


class Kin(NamedTuple):
    """How a subject is related by the words in its name to what was spoken of."""

    share: float
    """Of all that is called so, what was spoken of."""
    recent: float
    """Where in the session something called so was spoken of last: 1 is now."""


class _Pieces(dict[str, tuple[str, ...]]):
    """Remembers the words that names are made of; forgets all of them when they are too many."""

    def __missing__(self, name: str) -> tuple[str, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self[name] = tuple({piece.lower(): None for piece in _PIECE.findall(name)})
        return found


_PIECES = _Pieces()


class Company:
    """All that a session names."""

    def __init__(self, values: Iterable[Value]) -> None:
        """Count what was named together, and which words names are made of."""
        held = list(values)
        self.length = 1 + max((value.last_index for value in held), default=0)
        """Of the session, in messages."""
        self._first = Counter([value.first_message for value in held])
        self._last = Counter([value.last_message for value in held])
        self._named: Counter[str] = Counter()
        self._spoken: Counter[str] = Counter()
        self._latest: dict[str, int] = {}
        named, spoken, latest = self._named, self._spoken, self._latest
        for value in held:
            pieces = _PIECES[value.text]
            for piece in pieces:
                named[piece] += 1
            if any(value.counts[_SPOKEN]):
                at = value.last_index
                for piece in pieces:
                    spoken[piece] += 1
                    if at > latest.get(piece, -1):
                        latest[piece] = at

    def crowds(self, subject: Subject) -> tuple[int, int]:
        """Return how many values were first named with a subject, and how many last."""
        return self._first[subject.first_message], self._last[subject.last_message]

    def kin(self, subject: Subject) -> Kin:
        """Return how close a subject is to what was spoken of."""
        pieces = _PIECES[subject.text]
        if not pieces:
            return _NONE
        spoken, named, latest = self._spoken, self._named, self._latest
        share = recent = 0.0
        for piece in pieces:
            if piece in latest:
                share += spoken[piece] / named[piece]
                recent += latest[piece]
        return Kin(share / len(pieces), recent / (len(pieces) * self.length))


_NONE = Kin(0.0, 0.0)
