"""What was put off: asked for or promised, not done, and no longer what the talk is about.

Found by its words, so that a report is held against a few of many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from clew.ledger.loop import LATER, Loop
from clew.ledger.replies import enough_of, matter, says_all_done

_MOST_WITH_ONE_WORD = 64
"""Loops that share a word, above which it tells none of them apart."""


@dataclass(slots=True)
class PutOff:
    """Keeps what was put off until a report speaks of it."""

    held: dict[str, Loop] = field(default_factory=dict)
    """By id, oldest first."""
    heard: list[str] = field(default_factory=list)
    """The ids of those that the model's last report speaks of; a call behind it takes that back."""
    _by_word: dict[str, set[str]] = field(init=False, default_factory=dict)
    _enough: dict[str, int] = field(init=False, default_factory=dict)
    """By id: how many of its words a report must share to be about it."""

    def __post_init__(self) -> None:
        for loop in self.held.values():
            self._index(loop)

    def _index(self, loop: Loop) -> None:
        words = matter(loop.text)
        self._enough[loop.id] = enough_of(len(words))
        for word in words:
            self._by_word.setdefault(word, set()).add(loop.id)

    @property
    def loops(self) -> Iterator[Loop]:
        """Yield what still waits: not what the last report speaks of."""
        heard = frozenset(self.heard)
        return (loop for loop in self.held.values() if loop.id not in heard)

    @property
    def spoken_of(self) -> tuple[Loop, ...]:
        """Return what the last report speaks of."""
        return tuple(self.held[id_] for id_ in self.heard)

    def put(self, loop: Loop) -> None:
        """Put a loop off."""
        self.held[loop.id] = replace(loop, status=LATER)
        self._index(loop)

    def take(self, id_: str) -> Loop | None:
        """Take a loop out; None where it was not put off."""
        loop = self.held.pop(id_, None)
        if id_ in self.heard:
            self.heard.remove(id_)
        self._enough.pop(id_, None)
        for word in matter(loop.text) if loop else ():
            self._by_word[word].discard(id_)
            if not self._by_word[word]:
                del self._by_word[word]
        return loop

    def hear(self, report: str) -> None:
        """Note which of these a report speaks of."""
        self.forget_report()
        if not self.held:
            return
        if says_all_done(report):
            self.heard = list(self.held)
            return
        shared: Counter[str] = Counter()
        for word in matter(report) & self._by_word.keys():
            ids = self._by_word[word]
            if len(ids) <= _MOST_WITH_ONE_WORD:
                shared.update(ids)
        spoken_of = [id_ for id_, words in shared.items() if words >= self._enough[id_]]
        self.heard = sorted(spoken_of, key=_number)

    def forget_report(self) -> None:
        """Take back what the last report counted for."""
        self.heard = []

    def settle(self) -> None:
        """Let go what the last report speaks of."""
        heard, self.heard = self.heard, []
        for id_ in heard:
            self.take(id_)


def _number(id_: str) -> int:
    return int(id_[1:])
