"""Baselines that clew's search is compared with: plain BM25, grep, and a model that reads everything."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import TypeAlias

from clew.memory.index.protocol import Entry
from clew.memory.words import stop_words

K1, B = 1.2, 0.75
_WORD = re.compile(r"\w+")
Search: TypeAlias = Callable[[str, int], list[Entry]]
"""Takes a question and a number of entries; returns the best first."""


def bm25(entries: Sequence[Entry]) -> Search:
    """Return a plain BM25 search: words in lower case, unstemmed, speaker included."""
    words = [Counter(_words(f"{entry.speaker} {entry.text}")) for entry in entries]
    lengths = [sum(counts.values()) for counts in words]
    mean = sum(lengths) / max(1, len(lengths))
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for n, counts in enumerate(words):
        for word, count in counts.items():
            postings[word].append((n, count))

    def search(question: str, limit: int) -> list[Entry]:
        scores: Counter[int] = Counter()
        for word in set(_words(question)):
            found = postings.get(word, [])
            worth = math.log(1 + (len(entries) - len(found) + 0.5) / (len(found) + 0.5))
            for n, count in found:
                scores[n] += worth * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[n] / mean))  # type: ignore[assignment]
        return [entries[n] for n, _ in scores.most_common(limit)]

    return search


def grep(entries: Sequence[Entry]) -> Search:
    """Return a grep for each word of a question: most distinct words first, then the latest."""
    texts = [entry.text.lower() for entry in entries]

    def search(question: str, limit: int) -> list[Entry]:
        words = {word for word in _words(question) if word not in stop_words()}
        found = [(sum(word in text for word in words), n) for n, text in enumerate(texts)]
        return [entries[n] for count, n in sorted(found, reverse=True)[:limit] if count]

    return search


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
