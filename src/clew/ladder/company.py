"""What a subject is named among: what else came with it, and how close it is to what people speak of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from clew.ladder.subjects import Subject
from clew.ledger.passages import Voice
from clew.ledger.values import Value

_PIECE = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}(?![a-z])|\d{3,}")
_REMEMBERED = 200_000
_SPOKEN = slice(Voice.USER, Voice.BODY)
"""People, the model's words, and what it types into calls."""


class _Pieces(dict[str, tuple[str, ...]]):
    """Remembers the words that names are made of; forgets all of them when they are too many."""

    def __missing__(self, name: str) -> tuple[str, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self[name] = tuple(dict.fromkeys(map(str.lower, _PIECE.findall(name))))
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
        self._named: dict[str, int] = {}
        self._spoken: dict[str, int] = {}
        self._latest: dict[str, int] = {}
        named, spoken, latest = self._named, self._spoken, self._latest
        for value in held:
            pieces = _PIECES[value.text]
            for piece in pieces:
                named[piece] = named.get(piece, 0) + 1
            if any(value.counts[_SPOKEN]):
                at = value.last_index
                for piece in pieces:
                    spoken[piece] = spoken.get(piece, 0) + 1
                    if at > latest.get(piece, -1):
                        latest[piece] = at

    def of(self, subject: Subject) -> tuple[int, int, float, float]:
        """Return what a subject is named among.

        That is how many values were first named with it and how many last; of all that is called by the
        words in its name, the share that was spoken of, and where in the session that was last: 1 is now.
        """
        pieces = _PIECES[subject.text]
        latest = self._latest
        share = recent = 0.0
        for piece in pieces:
            if piece in latest:
                share += self._spoken[piece] / self._named[piece]
                recent += latest[piece]
        words = len(pieces) or 1
        crowds = self._first[subject.first_message], self._last[subject.last_message]
        return *crowds, share / words, recent / (words * self.length)
