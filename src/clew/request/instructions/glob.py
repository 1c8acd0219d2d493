"""Match path patterns of rules (``src/**/*.{ts,tsx}``) in time linear in pattern length times path length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

MOST_EXPANSIONS = 1_000
"""Limits against hostile patterns, chosen by hand."""
LONGEST_PATTERN = 400


def matches(path: str, pattern: str) -> bool:
    """Return True if a relative path matches a pattern; a pattern without a slash matches in any folder."""
    if not pattern or len(pattern) > LONGEST_PATTERN:
        return False
    return any(_matches(path.split("/"), _segments(one)) for one in expanded(pattern))


def expanded(pattern: str) -> Iterator[str]:
    """Yield a pattern with its braces expanded, at most ``MOST_EXPANSIONS`` results."""
    waiting = [pattern]
    for _ in range(MOST_EXPANSIONS):
        if not waiting:
            return
        one = waiting.pop()
        close = one.find("}")
        start = one.rfind("{", 0, close) if close >= 0 else -1
        if start < 0:
            yield one
            continue
        choices = one[start + 1 : close].split(",")
        waiting += [f"{one[:start]}{choice}{one[close + 1 :]}" for choice in reversed(choices)][
            :MOST_EXPANSIONS
        ]


def _segments(pattern: str) -> list[str]:
    plain = pattern.removeprefix("./").removeprefix("/")
    segments = [segment for segment in plain.split("/") if segment]
    if plain.endswith("/"):
        segments.append("**")
    return segments if "/" in pattern else ["**", *segments]


def _matches(parts: Sequence[str], segments: Sequence[str]) -> bool:
    """Match component by component; ``**`` matches any number of them."""
    reached = {0}  # numbers of components that the segments so far can have consumed
    for segment in segments:
        if segment == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else set()
        else:
            reached = {n + 1 for n in reached if n < len(parts) and fnmatchcase(parts[n], segment)}
    return len(parts) in reached
