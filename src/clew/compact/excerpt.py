"""The telling lines of a long text: how it begins, how it ends, and what went wrong in between."""

from __future__ import annotations

import re
from collections.abc import Sequence

EDGE_SHARE = 0.3
"""Of the room, for the beginning and for the end each; the rest is for lines that matter."""
LONGEST_LINE = 400

_MATTERS = re.compile(
    r"error|fail|exception|traceback|fatal|panic|warn|assert|denied|not found|undefined|cannot|invalid"
    r"|✗|✘|❌|\bFAILED\b|\bE\s{2,}",
    re.IGNORECASE,
)


def excerpt(text: str, most_characters: int) -> str:
    """Return at most about so many characters of a text, with what was left out said line by line."""
    if len(text) <= most_characters:
        return text
    lines = text.split("\n")
    kept = _chosen(lines, most_characters)
    shown: list[str] = []
    last = -1
    for i in kept:
        if i > last + 1:
            shown.append(f"[… {i - last - 1:,} lines]")
        shown.append(_cut(lines[i]))
        last = i
    if last < len(lines) - 1:
        shown.append(f"[… {len(lines) - 1 - last:,} lines]")
    return "\n".join(shown)


def _chosen(lines: Sequence[str], most_characters: int) -> list[int]:
    edge = int(most_characters * EDGE_SHARE)
    head = _fill(range(len(lines)), lines, edge)
    tail = _fill(range(len(lines) - 1, -1, -1), lines, edge)
    chosen = {*head, *tail}
    room = most_characters - sum(_size(lines[i]) for i in chosen)
    middle = range(len(head), len(lines) - len(tail))
    for i in middle:
        if room <= 0:
            break
        if _MATTERS.search(lines[i], 0, LONGEST_LINE):
            chosen.add(i)
            room -= _size(lines[i])
    return sorted(chosen)


def _fill(order: range, lines: Sequence[str], room: int) -> list[int]:
    """Return the first lines in this order that fit; always at least one."""
    found: list[int] = []
    for i in order:
        room -= _size(lines[i])
        if room < 0 and found:
            break
        found.append(i)
    return found


def _size(line: str) -> int:
    return min(len(line), LONGEST_LINE) + 1


def _cut(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    half = LONGEST_LINE // 2
    return f"{line[:half]}[… {len(line) - 2 * half:,} characters]{line[-half:]}"
