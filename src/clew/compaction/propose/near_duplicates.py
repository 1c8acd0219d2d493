"""Outputs that a later one nearly contains: the same file read again, the same test run again."""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

NEAR_SHARE = 0.8
"""Share of an output's characters that must be in the later one line by line; chosen by hand."""
LEAST_LINES = 8
ANCHORS = 4
"""Lines by which candidate pairs are found: those with the smallest checksums (MinHash)."""
FAR_LONGER = 1_000
"""An output this many times longer than any other is not examined: it cannot be near one."""
SHORTEST_ANCHOR = 12
"""Characters; shorter lines occur everywhere."""


class Near(NamedTuple):
    """An output that a later one nearly contains."""

    number: int
    later: int
    own: list[str]
    """The lines that only the earlier one has, in order."""


def near_duplicates(texts: Sequence[str]) -> Iterator[Near]:
    """Yield the outputs that a later one nearly contains, latest first. Takes linear time."""
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
