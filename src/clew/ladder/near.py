"""Outputs that a later one holds but for a few lines."""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

NEAR_SHARE = 0.8
"""Of an output's characters, those that must stand in the later one line for line."""
LEAST_LINES = 8
ANCHORS = 4
"""Lines by which outputs that may be alike are found: those with the smallest checksums."""
FAR_LONGER = 1_000
"""Times: an output that is so much longer than any other is near none of them, and is not looked at."""
SHORTEST_ANCHOR = 12
"""Characters; shorter lines stand everywhere."""


class Near(NamedTuple):
    """An output that a later one nearly holds."""

    number: int
    later: int
    own: list[str]
    """The lines that only the earlier one has, in order."""


def near_duplicates(texts: Sequence[str]) -> Iterator[Near]:
    """Yield the outputs that a later one holds but for a few lines, the latest first. Takes linear time."""
    by_anchor: dict[int, int] = {}
    held: dict[int, frozenset[str]] = {}
    longest = FAR_LONGER * heapq.nlargest(2, map(len, (*texts, "")))[-1]
    for number in range(len(texts) - 1, -1, -1):
        if len(texts[number]) > longest:
            continue
        lines = texts[number].split("\n")
        if len(lines) < LEAST_LINES:
            continue
        anchors = _anchors(lines)
        for later in dict.fromkeys(by_anchor[one] for one in anchors if one in by_anchor):
            own = [line for line in lines if line not in held[later]]
            if sum(map(len, own)) <= (1 - NEAR_SHARE) * len(texts[number]):
                yield Near(number, later, [line for line in own if line.strip()])
                break
        held[number] = frozenset(lines)
        by_anchor.update(dict.fromkeys(anchors, number))


def _anchors(lines: Sequence[str]) -> list[int]:
    sums = {
        zlib.crc32(line.encode("utf-8", "surrogatepass")) for line in lines if len(line) >= SHORTEST_ANCHOR
    }
    return heapq.nsmallest(ANCHORS, sums)
