"""The words of a text, and whether a sentence is still in it (``Survival``).

Of "set MAX_RETRIES in src/cart.py" the plain word is ``set``: the others belong to exact values.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from clew_evals.exact import spot

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """the and for that this with you not are was but can have from will its into then than when all any
        our out has had were what which there their they them your use using should would could about also
        just like""",
    )
)
_WORD = re.compile(r"[^\W\d][\w'’-]{2,}")
_PLAIN = re.compile(r"(?<![\w./-])[a-z]{3,}(?![\w./-])")


def all_words(text: str) -> list[str]:
    """Return the words of a text, in small letters."""
    return [word.lower() for word in _WORD.findall(text)]


def content_words(text: str) -> list[str]:
    """Return the words of a text that carry meaning, in small letters."""
    return [word for word in all_words(text) if word not in STOP_WORDS]


def plain_words(text: str) -> list[str]:
    """Return the small words of a text that are no part of an exact value: a list of names has none."""
    pieces, last = [], 0
    for spotted in spot(text):
        pieces.append(text[last : spotted.start])
        last = spotted.end
    pieces.append(text[last:])
    return [word for word in _PLAIN.findall(" ".join(pieces)) if word not in STOP_WORDS]


WINDOW_WORDS = 40
"""A sentence survives if its words are this close together: about two lines of a summary."""
MOST_PLACES = 400
"""Places of one word that are looked at, so that a frequent word costs little."""


class Survival:
    """Answers for one text which sentences are still in it: enough of their words, close together."""

    def __init__(self, text: str) -> None:
        self._flat = " ".join(text.lower().split())
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(all_words(text)):
            self._places[word].append(place)

    def share(self, sentence: str) -> float:
        """Return the largest share of a sentence's words that is within 40 words of the text."""
        flat = " ".join(sentence.lower().split())
        if flat and flat in self._flat:
            return 1.0
        wanted = set(content_words(sentence))
        if not wanted:
            return 0.0
        marks = sorted((place, word) for word in wanted for place in self._places.get(word, ())[:MOST_PLACES])
        inside: Counter[str] = Counter()
        best = left = 0
        for place, word in marks:
            inside[word] += 1
            while place - marks[left][0] > WINDOW_WORDS:
                gone = marks[left][1]
                inside[gone] -= 1
                if not inside[gone]:
                    del inside[gone]
                left += 1
            best = max(best, len(inside))
        return best / len(wanted)
