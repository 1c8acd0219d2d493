"""A reader that answers questions from a view with no model, by the words around each value.

The question is the sentence in which the agent used a value, with a gap in its place. The reader looks at
every value of that kind in the view and takes the one with most of the question's words around it, rare words
counting more. It is no good reader, but the same for every policy; and it cannot be fooled by a value that
merely is somewhere.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from clew_evals.exact import key_of, spot
from clew_evals.probe import Probe
from clew_evals.questions import GAP, ReaderQuestion
from clew_evals.words import content_words

NEAR = 60
"""Characters on either side of a value."""
FEWEST_WORDS = 3
"""A question with fewer words asks for nothing."""


class _ReadValue(NamedTuple):
    key: str
    words_near: frozenset[str]


class ProbeReader:
    """Answers questions from one view, which it has read."""

    def __init__(self, text: str) -> None:
        self._values: defaultdict[str, list[_ReadValue]] = defaultdict(list)
        """By kind, in the order of the text."""
        self._spread: Counter[str] = Counter()
        """Of each word, the number of values that it is near to."""
        for spotted in spot(text):
            before = text[max(0, spotted.start - NEAR) : spotted.start]
            near = f"{before} {text[spotted.end : spotted.end + NEAR]}"
            words = frozenset(content_words(near))
            self._values[spotted.kind].append(_ReadValue(key_of(spotted.kind, spotted.value), words))
            self._spread.update(words)

    def answers(self, probe: Probe) -> bool | None:
        """Whether the reader gives the right answer; None if the question asks for nothing."""
        if len(_words(probe.question)) < FEWEST_WORDS:
            return None
        return self.answer(probe.kind, probe.question) == probe.key

    def answer(self, kind: str, question: str) -> str:
        """Return the value that fills the gap best; empty if none has a word of the question around it."""
        asked = _words(question)
        best, answer = 0.0, ""
        for value in self._values[kind]:
            score = sum(1 / math.log(2 + self._spread[word]) for word in asked & value.words_near)
            if score >= best and score > 0:  # of two that fit alike, the later one is the newer
                best, answer = score, value.key
        return answer


@lru_cache(maxsize=1)
def reader_of(text: str) -> ProbeReader:
    """Return a reader of a text; one view is read once."""
    return ProbeReader(text)


def read_plainly(text: str, questions: Sequence[ReaderQuestion]) -> list[str]:
    """Answer questions from a text with no model."""
    reader = reader_of(text)
    return [reader.answer(question.kind, question.text) for question in questions]


def _words(question: str) -> frozenset[str]:
    return frozenset(content_words(question.replace(GAP, " ")))
