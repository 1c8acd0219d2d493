"""Lines of a text by their offsets, and how a long line is cut."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from clew.message.text import omission_note

LONGEST_LINE = 400
"""Characters shown of a line, half of them from its end; also how far into it an error word counts."""
WORTH_A_GAP, WORTH_A_PROSE_GAP = 120, 300
"""Characters that are left out at least, and of prose: a note takes a quarter of the first, and a sentence
without its middle says nothing. Chosen by hand."""
LEAST_GAP = 48
"""The same in the smallest form of a text: its note takes half of them."""

Span: TypeAlias = tuple[int, int]
"""Character offsets in a text: first, and one past the last."""


def gap_note(count: int, names: str = "") -> str:
    """Return the note that stands for so many lines, with the names that they define."""
    return f"[… {count:,} {'line' if count == 1 else 'lines'}{': ' if names else ''}{names}]"


def lines_of(text: str, start: int = 0) -> Iterator[Span]:
    """Yield the lines of a text from an offset on."""
    while start <= len(text):
        end = line_end(text, start)
        yield start, end
        start = end + 1


def lines_backwards(text: str) -> Iterator[Span]:
    """Yield the lines of a text, the last first."""
    end = len(text)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        yield start, end
        end = start - 1


def line_end(text: str, start: int) -> int:
    """Return where the line ends in which an offset is."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def line_size(line: Span, longest: int) -> int:
    """Return the characters that a line takes if only about so many of it are shown."""
    size = line[1] - line[0]
    return (size if size <= longest + WORTH_A_GAP else longest) + 1


def fill(lines: Iterator[Span], room: int, longest: int) -> list[Span]:
    """Return the first lines in this order that fit; always at least one."""
    found: list[Span] = []
    for line in lines:
        room -= line_size(line, longest)
        if room < 0 and found:
            break
        found.append(line)
    return found


def lines_with(block: str, word: str) -> Iterator[Span]:
    """Yield the lines of a text that contain a word early on."""
    at = block.find(word)
    while at >= 0:
        behind = at + len(word)
        start, end = block.rfind("\n", 0, behind) + 1, line_end(block, behind)
        if behind - start <= LONGEST_LINE:
            yield start, end
        at = block.find(word, end)


def by_line(text: str, protected: Sequence[Span]) -> dict[Span, list[Span]]:
    """Return what must be shown of which line."""
    found: dict[Span, list[Span]] = {}
    first = 0, line_end(text, 0)
    for low, high in sorted(protected):
        if low > first[1]:
            start = text.rfind("\n", first[1], low) + 1
            first = start, line_end(text, start)
        line = first
        while line[0] < min(high, len(text)):
            start, end = line
            if low < end:
                found.setdefault(line, []).append((max(low, start) - start, min(high, end) - start))
            line = end + 1, line_end(text, end + 1)
    return found


# Within a line ---------------------------------------------------------------------------------------


def is_worth_a_gap(text: str, start: int, end: int, least: int = WORTH_A_GAP) -> bool:
    """Whether leaving out what is between two offsets saves enough for the note that stands for it."""
    size = end - start
    if size <= least or size > WORTH_A_PROSE_GAP:
        return size > least
    return least < WORTH_A_GAP or not _is_prose(text[start:end])


def _is_prose(text: str) -> bool:
    """Whether a text has long lines, most of them words with spaces between them."""
    if text.strip().count("\n") * PROSE_LINE > len(text):
        return False
    return len(_WORDS.findall(text)) * CHARACTERS_PER_WORD >= len(text)


_WORDS = re.compile(r"(?<![^\s(\"'“‘])[^\W\d_]+(?=[,.;:!?)\"'”’]?(?:\s|$))")
"""Words that stand alone, as they do in prose: in code most are next to a sign."""
CHARACTERS_PER_WORD = 9
"""Characters up to which a text has a word in prose, spaces and names included; chosen by hand."""


def cut_line(line: str, longest: int, protected: Sequence[Span] = (), least: int = WORTH_A_GAP) -> str:
    """Return the beginning and end of a line, of prose in sentences, and what must be shown of it."""
    half = longest // 2
    if len(line) <= longest or not is_worth_a_gap(line, half, len(line) - half, least):
        return line
    place = _PLACE.match(line)
    head = max(half, min(place.end(), longest)) if place else half
    tail = before_negation(line, _word_start(line, len(line) - half))
    pieces = list(_merged([(0, _word_end(line, head)), *protected, (tail, len(line))]))
    shown = line[slice(*pieces[0])]
    for before, after in pairwise(pieces):
        shown += f"{omission_note(after[0] - before[1])}{line[slice(*after)]}"
    return shown


def _word_end(line: str, at: int) -> int:
    """Return where the last sentence before an offset ends, or else the last word; there, if none does."""
    ends = [found.end() for found in _SENTENCE_END.finditer(line, at // 2, at)]
    return ends[-1] if ends else max(line.rfind(" ", at - LONGEST_WORD, at), 0) or at


def _word_start(line: str, at: int) -> int:
    """Return where the first word behind an offset begins; there, if none does."""
    found = line.find(" ", at - 1, at + LONGEST_WORD)
    return at if found < 0 else found + 1


PROSE_LINE = 40
"""Characters of a line of prose at least; chosen by hand."""
LONGEST_WORD = 20
"""Characters within which the end of a word is looked for; a longer one is cut."""
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
_PLACE = re.compile(r"\s*[\w./\\@()\[\]+ -]{3,200}:\d+(?::|-)")
"""Path and line number at the beginning of a hit: without them, what it says cannot be found again."""
_NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|without|neither|nor|nothing|none|\w+n['’]t|dont|avoid|instead of|rather than"
    r"|nicht|nie|niemals|kein\w*|ohne|ne|pas|jamais|sans|nunca|jamás|sin|não|sem|non|mai|niet|nooit|geen)"
    r"[ \t]+(?:\w+[ \t]+){0,2}\w*$",
    re.IGNORECASE,
)
"""A negation, with up to two words after it."""
_LOOKED_BACK = 60


def before_negation(text: str, start: int) -> int:
    """Return where an excerpt may begin: there, or earlier, so that it does not omit a negation."""
    found = _NEGATION.search(text, max(0, start - _LOOKED_BACK), start)
    return found.start() if found else start


def _merged(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield spans in order, touching ones merged."""
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
