"""Judge by its words and its signs whether a sentence is a rule: a linear model fitted to labelled sentences.

The tables of ``force.py`` know the forms of a rule, and each round of tuning fitted them to the people whose
sentences had been read. The model weighs what they found (the reason, the cues), the length of the message
and the words themselves, with weights fitted to the sentences of many people (bench/rules.md). What the
tables call a rule and the model does not is not pinned.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

from clew.message.text import lazy_pattern
from clew.rules.evidence import Evidence
from clew.rules.languages import ENGLISH
from clew.rules.sentences import Sentence

_ADDRESS = lazy_pattern(r"https?://\S+")
_PLACE = lazy_pattern(r"[\w.-]+/[\w./-]*|\b[\w-]+\.[a-z]{1,5}\b")
_NUMBER = lazy_pattern(r"\d+")
_WORD = lazy_pattern(r"PATH|URL|NUM|[a-z_']+|[^\x00-\x7f\s]|[.!?:;,`\"()*#]")
"""A word, a mark, or one character of another script; a path, an address and a number are one word each."""
_OPENING = 5
"""Words at the start of a sentence that count once more, as its opening: there an order has its verb."""
_LENGTHS = (120, 300, 800, 2_000, 4_000, 12_000)
"""Characters of a message: what is typed in passing, a prompt, a document."""
_WORDS = (3, 6, 10, 16, 25, 40)
"""Words of a sentence."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A linear model: the bias plus the weights of the features of a sentence."""

    bias: float
    weights: dict[str, float]

    def score(self, features: frozenset[str]) -> float:
        """Return the score of a sentence with these features."""
        weights = self.weights
        return math.fsum([self.bias, *(weights[one] for one in features if one in weights)])


def wording_score(sentence: Sentence, seen: Evidence, why: str) -> float:
    """Return how much a sentence is a rule that the tables call one; at zero it is as likely one as not."""
    return _shipped().score(features_of(sentence, seen, why))


def features_of(sentence: Sentence, seen: Evidence, why: str) -> frozenset[str]:
    """Return the features of a sentence: words, pairs of them, its opening, the words above it, its signs.

    ``why`` is the reason for which the tables call it a rule; empty if they do not.
    """
    return frozenset((*_words_of(sentence), *_signs_of(sentence, seen, why)))


def _words_of(sentence: Sentence) -> Iterator[str]:
    words = _words(sentence.text)
    yield from (f"w {word}" for word in words)
    yield from (f"o {word}" for word in words[:_OPENING])
    yield from (f"p {one} {other}" for one, other in pairwise(("^", *words, "$")))
    for over in (sentence.lead, sentence.heading):
        yield from (f"l {word}" for word in _words(over))


def _signs_of(sentence: Sentence, seen: Evidence, why: str) -> Iterator[str]:
    yield from (f"cue {hit.cue}" for hit in seen.hits)
    reason = why.split(" '", 1)[0]
    yield f"why {reason}"
    yield f"why {reason}, {'English' if seen.language == ENGLISH else 'another language'}"
    yield f"why {reason}, {'long' if seen.length > _LENGTHS[3] else 'short'}"
    yield f"message {bisect_left(_LENGTHS, seen.length)}"
    yield f"sentence {bisect_left(_WORDS, len(sentence.text.split()))}"
    yield f"place {bool(sentence.item)} {bool(sentence.lead)} {bool(sentence.heading)}"


def _words(text: str) -> list[str]:
    plain = text.lower().replace("’", "'").replace("´", "'")
    return _WORD.findall(_NUMBER.sub(" NUM ", _PLACE.sub(" PATH ", _ADDRESS.sub(" URL ", plain))))


@cache
def _shipped() -> Wording:
    text = resources.files(__package__).joinpath("data/wording.json").read_text("utf-8")
    return Wording(**json.loads(text))
