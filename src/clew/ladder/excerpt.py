"""The telling lines of a long text: how it begins, how it ends, and what went wrong in between."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

EDGE_SHARE = 0.3
"""Of the room, for the beginning and for the end each; the rest is for lines that matter."""
LONGEST_LINE = 400
"""Characters of a line that are shown, half of them from its end."""
GAP = 24
"""Characters that it takes to say how many are left out."""

Span: TypeAlias = tuple[int, int]
"""Characters of a text, from the first to the one behind the last."""

_MATTERS = re.compile(
    r"error|fail|exception|traceback|fatal|panic|warn|assert|denied|not found|undefined|cannot|invalid"
    r"|✗|✘|❌|\be\s{2,}"
)
"""In lower case: to look for words in any case takes several times as long."""


def excerpt(
    text: str, most_characters: int, held: Sequence[Span] = (), longest_line: int = LONGEST_LINE
) -> str:
    """Return at most about so many characters of a text, with what was left out said line by line.

    What stands at ``held`` is always shown, whatever room it takes.
    """
    if len(text) <= most_characters:
        return text
    lines = text.split("\n")
    pieces = _by_line(lines, held) if held else {}
    kept = sorted({*_chosen(lines, most_characters, longest_line), *pieces})
    shown: list[str] = []
    last = -1
    for i in kept:
        if i > last + 1:
            shown.append(_gap(i - last - 1))
        shown.append(_cut(lines[i], longest_line, pieces.get(i, ())))
        last = i
    if last < len(lines) - 1:
        shown.append(_gap(len(lines) - 1 - last))
    return "\n".join(shown)


def _gap(count: int) -> str:
    return f"[… {count:,} {'line' if count == 1 else 'lines'}]"


def _chosen(lines: Sequence[str], most_characters: int, longest: int) -> set[int]:
    edge = int(most_characters * EDGE_SHARE)
    sizes = [min(len(line), longest) + 1 for line in lines]
    head = _fill(range(len(lines)), sizes, edge)
    tail = _fill(range(len(lines) - 1, -1, -1), sizes, edge)
    chosen = {*head, *tail}
    room = most_characters - sum(sizes[i] for i in chosen)
    for i in range(len(head), len(lines) - len(tail)):
        if room <= 0:
            break
        if _MATTERS.search(lines[i][:LONGEST_LINE].lower()):
            chosen.add(i)
            room -= sizes[i]
    return chosen


def _fill(order: range, sizes: Sequence[int], room: int) -> list[int]:
    """Return the first lines in this order that fit; always at least one."""
    found: list[int] = []
    for i in order:
        room -= sizes[i]
        if room < 0 and found:
            break
        found.append(i)
    return found


def _by_line(lines: Sequence[str], held: Sequence[Span]) -> dict[int, list[Span]]:
    """Return what must be shown of which line."""
    found: dict[int, list[Span]] = {}
    start = 0
    for i, line in enumerate(lines):
        end = start + len(line)
        for low, high in held:
            if low < end and high > start:
                found.setdefault(i, []).append((max(low, start) - start, min(high, end) - start))
        start = end + 1
    return found


def _cut(line: str, longest: int, held: Sequence[Span] = ()) -> str:
    """Return how a line begins and ends, and what must be shown of it."""
    if len(line) <= longest + GAP:
        return line
    half = longest // 2
    pieces = list(_merged([(0, half), *held, (before_negation(line, len(line) - half), len(line))]))
    shown = line[slice(*pieces[0])]
    for before, after in pairwise(pieces):
        shown += f"{left_out(after[0] - before[1])}{line[slice(*after)]}"
    return shown


def left_out(characters: int) -> str:
    """Return what stands in a line for characters that are left out of it."""
    return f"[… {characters:,} {'character' if characters == 1 else 'characters'}]"


_NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|without|neither|nor|nothing|none|\w+n['’]t|dont|avoid|instead of|rather than"
    r"|nicht|nie|niemals|kein\w*|ohne|ne|pas|jamais|sans|nunca|jamás|sin|não|sem|non|mai|niet|nooit|geen)"
    r"[ \t]+(?:\w+[ \t]+){0,2}\w*$",
    re.IGNORECASE,
)
"""A word that turns what follows into its opposite, and up to two words between them."""
_LOOKED_BACK = 60


def before_negation(text: str, start: int) -> int:
    """Return where a piece of a text may begin: there, or before a word that turns its first words round."""
    found = _NEGATION.search(text, max(0, start - _LOOKED_BACK), start)
    return found.start() if found else start


def _merged(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield spans in their order, those that touch as one."""
    begun: Span | None = None
    for start, end in sorted(spans):
        if begun is not None and start <= begun[1]:
            begun = (begun[0], max(begun[1], end))
            continue
        if begun is not None:
            yield begun
        begun = (start, end)
    if begun is not None:
        yield begun
