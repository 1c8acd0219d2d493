"""Whether a sentence survives in a text: enough of its words, close together."""

from __future__ import annotations

from collections import Counter, defaultdict

from clew_evals.words import all_words, content_words

WINDOW_WORDS = 40
MOST_PLACES = 400


class Survival:
    """Answers for one text which sentences are still in it."""

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
