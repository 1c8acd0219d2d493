"""Postponed work: requested or promised, not done, and no longer the topic of the conversation.

Indexed by content words, so that a report is compared with few of many items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from clew.ledger.loop import LATER, Loop
from clew.ledger.replies import enough_of, matter, says_all_done

_MOST_WITH_ONE_WORD = 64
"""Number of items that share a word above which the word is too common to identify one; chosen by hand."""


@dataclass(slots=True)
class PutOff:
    """Postponed work, until a report mentions it."""

    held: dict[str, Loop] = field(default_factory=dict)
    """By id, oldest first."""
    heard: list[str] = field(default_factory=list)
    """Ids that the model's last report mentions; a tool call after the report cancels that."""
    _by_word: dict[str, set[str]] = field(init=False, default_factory=dict)
    _enough: dict[str, int] = field(init=False, default_factory=dict)
    """By id: how many of its words a report must share."""

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
        """Yield the items that the last report does not mention."""
        heard = frozenset(self.heard)
        return (loop for loop in self.held.values() if loop.id not in heard)

    @property
    def spoken_of(self) -> tuple[Loop, ...]:
        """Return the items that the last report mentions."""
        return tuple(self.held[id_] for id_ in self.heard)

    def put(self, loop: Loop) -> None:
        """Postpone a loop."""
        self.held[loop.id] = replace(loop, status=LATER)
        self._index(loop)

    def take(self, id_: str) -> Loop | None:
        """Remove and return a loop; None if it was not postponed."""
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
        """Record which items a report mentions."""
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
        """Ignore the last report."""
        self.heard = []

    def settle(self) -> None:
        """Remove the items that the last report mentions."""
        heard, self.heard = self.heard, []
        for id_ in heard:
            self.take(id_)


def _number(id_: str) -> int:
    return int(id_[1:])
