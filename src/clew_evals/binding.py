"""Whether a view says what a value is, not only that it is there.

``is_in_context`` is the plain definition: enough of the plain words of its source lines, or of the sentence
that used it, are near the value. ``is_explained`` asks more: the words of *one* of those lines, in their
order, on the value's own line. Words thrown around a list of values pass the first by luck, never the
second.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from clew_evals.needs import Probe
from clew_evals.questions import GAP
from clew_evals.words import places, plain_words

NEAR = 160
"""Characters on either side of a value that count as near it: about one line of a summary each."""
MOST_PLACES = 60
"""Mentions of a value in a view that are looked at."""
FEWEST_WORDS = 3
"""A line with fewer plain words says nothing that could be asked for."""
MOST_ASKED = 16
"""Words of a source line that are looked for: a view may shorten a long line."""
EXPLAINED_SHARE = 0.5
"""The share of these words that must be on the value's line, in order."""

_NEAR_WORD = re.compile(r"[a-z]{3,}")


class Binding:
    """What must be around one value for a view to say what it is."""

    __slots__ = ("_any", "_key", "_kind", "_orders")

    def __init__(self, probe: Probe) -> None:
        self._kind, self._key = probe.kind, probe.key
        question = probe.question.replace(GAP, " ")
        asked = (*probe.lines[:2], question)
        self._any = frozenset(word for line in asked for word in plain_words(line))
        """The words of which enough must be near the value, in any order (``is_in_context``)."""
        sources = (*probe.lines, question)
        self._orders = [words for line in sources if len(words := plain_words(line)) >= FEWEST_WORDS]
        """The lines of which one must be on the value's line, in this order (``is_explained``)."""

    def is_in_context(self, text: str) -> bool | None:
        """Whether at least two, and a quarter, of the plain words are near it; None if unasked."""
        if len(self._any) < FEWEST_WORDS:
            return None
        enough = max(2, math.ceil(min(len(self._any), MOST_ASKED) / 4))
        for place in islice(places(text, self._kind, self._key), MOST_PLACES):
            near = text[max(0, place - NEAR) : place + len(self._key) + NEAR].lower()
            if len(self._any.intersection(_NEAR_WORD.findall(near))) >= enough:
                return True
        return False

    def is_explained(self, text: str) -> bool | None:
        """Whether its line has three and half the words of one source, in order; None if unasked."""
        if not self._orders:
            return None
        for place in islice(places(text, self._kind, self._key), MOST_PLACES):
            start = max(text.rfind("\n", 0, place) + 1, place - NEAR)
            end = text.find("\n", place)
            line = text[start : min(end if end >= 0 else len(text), place + len(self._key) + NEAR)]
            words = plain_words(line)
            if any(_in_order(order, words) for order in self._orders):
                return True
        return False


@lru_cache(maxsize=4_096)
def binding_of(probe: Probe) -> Binding:
    """Return what binds a probe's value: worked out once for all policies."""
    return Binding(probe)


def _in_order(order: Sequence[str], words: Sequence[str]) -> bool:
    """Whether enough of a line's words are among others in the same order."""
    asked = order[:MOST_ASKED]
    enough = max(FEWEST_WORDS, math.ceil(len(asked) * EXPLAINED_SHARE))
    if len(set(asked).intersection(words)) < enough:
        return False  # the quick test
    return _longest_common_subsequence(asked, words) >= enough


def _longest_common_subsequence(words: Sequence[str], other: Sequence[str]) -> int:
    """Return its length, by the usual table of which only one row is kept."""
    row = [0] * (len(other) + 1)
    for word in words:
        diagonal = 0
        for j, seen in enumerate(other, start=1):
            above = row[j]
            row[j] = diagonal + 1 if word == seen else max(above, row[j - 1])
            diagonal = above
    return row[-1]
