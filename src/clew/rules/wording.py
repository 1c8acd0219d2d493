"""Judge by its words alone whether a sentence is a rule: a linear model fitted to labelled sentences.

The tables of ``force.py`` know the forms of a rule, and each round of tuning fitted them to the people whose
sentences had been read. This model knows the words of many more sentences and nothing of the tables, so if
both agree, a sentence is a rule far more often (bench/rules.md). What only the tables call a rule is not
pinned.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

from clew.message.patterns import lazy_pattern
from clew.rules.sentences import Sentence

_ADDRESS = lazy_pattern(r"https?://\S+")
_PLACE = lazy_pattern(r"[\w.-]+/[\w./-]*|\b[\w-]+\.[a-z]{1,5}\b")
_NUMBER = lazy_pattern(r"\d+")
_WORD = lazy_pattern(r"PATH|URL|NUM|[a-z_']+|[^\x00-\x7f\s]|[.!?:;,`\"()*#]")
"""A word, a mark, or one character of another script; a path, an address and a number are one word each."""
_OPENING = 5
"""Words at the start of a sentence that count once more, as its opening: there an order has its verb."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A linear model: the bias plus the weights of the features of a sentence."""

    bias: float
    weights: dict[str, float]

    def score(self, features: frozenset[str]) -> float:
        """Return the score of a sentence with these features."""
        weights = self.weights
        return math.fsum([self.bias, *(weights[one] for one in features if one in weights)])


def wording_score(sentence: Sentence) -> float:
    """Return how much the words of a sentence are those of a rule; at zero it is as likely one as not."""
    return _shipped().score(features_of(sentence))


def features_of(sentence: Sentence) -> frozenset[str]:
    """Return the features of a sentence: its words, pairs of them, its opening, the words above it."""
    return frozenset(_features(sentence))


def _features(sentence: Sentence) -> Iterator[str]:
    words = _words(sentence.text)
    yield from (f"w {word}" for word in words)
    yield from (f"o {word}" for word in words[:_OPENING])
    yield from (f"p {one} {other}" for one, other in pairwise(("^", *words, "$")))
    for over in (sentence.lead, sentence.heading):
        yield from (f"l {word}" for word in _words(over))


def _words(text: str) -> list[str]:
    plain = text.lower().replace("’", "'").replace("´", "'")
    return _WORD.findall(_NUMBER.sub(" NUM ", _PLACE.sub(" PATH ", _ADDRESS.sub(" URL ", plain))))


@cache
def _shipped() -> Wording:
    text = resources.files(__package__).joinpath("data/wording.json").read_text("utf-8")
    return Wording(**json.loads(text))
