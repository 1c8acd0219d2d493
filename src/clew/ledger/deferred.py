"""Postponed work: requests and promises that are not done and no longer the topic.

``Talk`` puts an item here if the model only promised it and the user moved on. A later report that shares
enough content words with the item closes it: after "Later I will fix the login form" is put off, "The login
form works now" mentions it. Items are indexed by content words: a report is compared with few of many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain

from clew.ledger.loop import LATER, Loop, LoopKind
from clew.ledger.replies import says_all_done
from clew.ledger.sections import named_sections, section_of
from clew.message.text import lazy_pattern
from clew.rules.languages import is_function_word

_STEM = 6
"""Letters of a word by which it is recognised; chosen by hand."""
_LONGEST_CHOICE = 60
"""Characters of an answer that only chooses; chosen by hand."""
_REMEMBERED, _LONGEST_REMEMBERED = 50_000, 80
_ENOUGH = 2
"""Content words that a report must share with an item to be about it; chosen by hand."""


@lru_cache(maxsize=4_096)  # postponed work is compared with every report
def matter(text: str) -> frozenset[str]:
    """Return the stems (first letters) of a text's content words; of a section's heading, its label."""
    if label := section_of(text):
        return frozenset((label,))
    return frozenset(chain(chain.from_iterable(map(_STEMS.__getitem__, text.split())), named_sections(text)))


class _Stems(dict[str, tuple[str, ...]]):
    """Cache from text without white space to the stems in it; cleared when it holds ``_REMEMBERED`` texts."""

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        words = (word.lower() for word in _WORD.findall(chunk))
        stems = tuple(word[:_STEM] for word in words if not is_function_word(word))
        if len(chunk) <= _LONGEST_REMEMBERED:
            self[chunk] = stems
        return stems


def enough_of(words: int) -> int:
    """Return how many words a report must share with an item of so many content words to be about it."""
    return min(_ENOUGH, max(1, words))


_MOST_WITH_ONE_WORD = 64
"""Number of items that share a word above which the word is too common to identify one; chosen by hand."""


@dataclass(slots=True)
class DeferredRequests:
    """Postponed work, until a report mentions it."""

    held: dict[str, Loop] = field(default_factory=dict)
    """By id, oldest first."""
    heard: list[str] = field(default_factory=list)
    """Ids that the model's last report mentions; a tool call after the report cancels that."""
    _by_word: dict[str, set[str]] = field(init=False, default_factory=dict)
    _enough: dict[str, int] = field(init=False, default_factory=dict)
    """By id: how many of its words a report must share."""
    _asked: set[str] = field(init=False, default_factory=set)
    """The ids of the model's questions."""

    def __post_init__(self) -> None:
        for loop in self.held.values():
            self._index(loop)

    def _index(self, loop: Loop) -> None:
        words = matter(loop.text)
        self._enough[loop.id] = enough_of(len(words))
        if loop.kind is LoopKind.ASKED:
            self._asked.add(loop.id)
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

    @property
    def failures(self) -> tuple[Loop, ...]:
        """Return what reports said of failing tests and builds."""
        left = (loop for loop in self.held.values() if loop.kind is LoopKind.LEFT)
        return tuple(loop for loop in left if _OF_TESTS.search(loop.text))

    def put(self, loop: Loop) -> None:
        """Postpone a loop."""
        self.held[loop.id] = replace(loop, status=loop.status or LATER)
        self._index(loop)

    def take(self, id_: str) -> Loop | None:
        """Remove and return a loop; None if it was not postponed."""
        loop = self.held.pop(id_, None)
        if id_ in self.heard:
            self.heard.remove(id_)
        self._enough.pop(id_, None)
        self._asked.discard(id_)
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
            spoken_of = set(self._items_mentioned_in(report))
            self.heard = [
                id_ for id_, loop in self.held.items() if loop.kind is not LoopKind.ASKED or id_ in spoken_of
            ]
            return
        self.heard = self._items_mentioned_in(report)

    def speaks_of_any(self, text: str) -> bool:
        """Return True if a text mentions an item."""
        return bool(self._items_mentioned_in(text))

    @property
    def holds_questions(self) -> bool:
        """Whether questions of the model wait for an answer."""
        return bool(self._asked)

    def questions_in(self, answer: str) -> list[str]:
        """Return the ids of the model's unanswered questions that the user's words are about."""
        if not self._asked:
            return []
        about = [id_ for id_ in self._items_mentioned_in(answer) if id_ in self._asked]
        is_choice = len(answer) <= _LONGEST_CHOICE and _CHOICE.match(answer) is not None
        return about or ([*self._asked] if is_choice and len(self._asked) == 1 else [])

    def _items_mentioned_in(self, text: str) -> list[str]:
        """Return the ids of the items that a text shares enough content words with, oldest first."""
        if not self.held:
            return []
        shared: dict[str, int] = {}  # a counter takes three times as long for a few words
        for word in matter(text) & self._by_word.keys():
            ids = self._by_word[word]
            for id_ in ids if len(ids) <= _MOST_WITH_ONE_WORD else ():
                shared[id_] = shared.get(id_, 0) + 1
        return sorted([id_ for id_, words in shared.items() if words >= self._enough[id_]], key=_number)

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


# What the patterns recognise ---------------------------------------------------------------------------

_WORD = lazy_pattern(r"[^\W_]{3,}")
"""A word of three letters or more."""
_CHOICE = lazy_pattern(
    r"\W*(?:(?:the|that)\ (?:one|first|second|third|last|latter|former)|(?:option|number)\ \w+|both"
    r"|neither)\b[^?]*\Z",
    re.IGNORECASE,
)
"""Words that choose from what was offered before, without naming it."""
_STEMS = _Stems()
"""Shared by all ledgers: the stems depend on the text alone."""
_OF_TESTS = lazy_pattern(r"\b(?:tests?|suite|build|ci|spec|specs)\b", re.IGNORECASE)
"""Words of an item about tests: "3 tests still fail"."""
