"""Find terms of the index that are spelled almost like a given one: one or two typos apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

SHORTEST = 5
"""Shortest word, in letters, that may be misspelled; in a shorter one a typo often makes another word. The
limits in this module were chosen by hand."""
TWO_SLIPS = 9
"""Words of at least this many letters may have two typos, shorter ones one."""
ALIKE_AT_FIRST = 2
"""Leading letters that must be right: typos there are rare, and it limits what must be read."""
MOST_READ = 4_000
"""How many terms are compared at most, which bounds the time in a large store."""
MOST_LIKE = 3


def spelled_like(word: str, read: Callable[[Mapping[str, Any]], Iterable[str]]) -> list[str]:
    """Return the terms from ``read`` that are spelled almost like this word, nearest first.

    ``read`` takes a range of words (first, beyond), of lengths (shortest, longest) and a limit.
    """
    if len(word) < SHORTEST or word.isdigit():
        return []
    slips = 2 if len(word) >= TWO_SLIPS else 1
    first = word[:ALIKE_AT_FIRST]
    wanted = {
        "first": first,
        "beyond": first[:-1] + chr(ord(first[-1]) + 1),
        "shortest": len(word) - slips,
        "longest": len(word) + slips,
        "limit": MOST_READ,
    }
    near = ((distance(word, one, slips), one) for one in read(wanted))
    return [one for slip, one in sorted(near) if 0 < slip <= slips][:MOST_LIKE]


def distance(one: str, other: str, most: int) -> int:
    """Return the edit distance (letters wrong, missing, added or swapped), at most ``most + 1``."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, against in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != against))
            if before and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)
