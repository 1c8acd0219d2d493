"""Texts without what takes room and says nothing: lines that repeat in a cycle, colours, frames of a spinner.

The traceback of a recursion, or a log of the same steps again and again, becomes one round of its lines: ::

    File "power.py", line 551, in is_prime
    File "power.py", line 560, in is_even
    [the 2 lines above, 321 times in all]

If only some lines of each round are the same, the others of each stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from clew.compaction.propose.tail import diff_start
from clew.message.text import COLOUR, omission_note

Span: TypeAlias = tuple[int, int]
"""Character offsets in a text: first, and one past the last."""

LONGEST_CYCLE = 64
"""Lines of a cycle. With the next number it bounds the work for each line of a text; chosen by hand."""
CANDIDATES = 4
"""Later lines that equal a line and are tried as the beginning of the next round."""
WORTH_FOLDING = 120
"""Characters that folding a cycle must save: the note takes a third of it."""
MOST_LINES = 100_000
"""A longer text is a giant of which little is shown in any case."""
LEAST_SIMILAR, FEWEST_SIMILAR = 4, 3
"""Lines of a round of which only some are the same, and the number of rounds; chosen by hand."""
SAYS_SOMETHING = 12
"""Characters from which a line may be the mark of such a round: a bracket is in every text."""
_FRAMES = re.compile(r"(?:[\u2801-\u28ff◐-◓◴-◷][^\n\u2801-\u28ff◐-◓◴-◷]{0,200}+){3,}+")
"""The frames of a spinner, which a terminal shows one after the other at the same place."""
_SPINNER = re.compile(r"[\u2801-\u28ff◐-◓◴-◷]")
_CHANGED_LINE = re.compile(r"^(?:\x1b\[[\d;]*+m)*+(?:\+(?!\+\+ )|-(?!-- ))", re.MULTILINE)
"""A line that a diff marks as added or removed."""


class Removal(NamedTuple):
    """Characters to leave out, and what stands for them."""

    start: int
    end: int
    note: str = ""
    round: int = 0
    """Characters of a round if all of this repeats the round before it; otherwise 0."""
    continues: bool = False
    """Whether the note of the removal before it stands for it, too."""


def folded(text: str, protected: Sequence[Span] = ()) -> tuple[str, list[Span]]:
    """Return a text without colour codes and repeated rounds of lines, and where protected spans are in it.

    What a span in ``protected`` has is not left out; of a later round, the first one has it. Linear time.
    """
    has_colours = "\x1b" in text and not _tells_by_colour(text)
    colours = (Removal(*one.span()) for one in COLOUR.finditer(text)) if has_colours else ()
    frames = _frames(text) if _SPINNER.search(text) else ()
    removals = sorted(_allowed(chain(_rounds(text), frames, colours), protected, text))
    for one in removals:
        protected = [_in_first_round(one, span, text) for span in protected]
    pieces: list[str] = []
    spans = list(protected)
    done = shift = 0
    for one in removals:
        if one.start < done:  # a colour inside a round that is left out
            continue
        pieces += (text[done : one.start], one.note)
        shift += len(one.note) - (one.end - one.start)
        done = one.end
        for i, (start, end) in enumerate(protected):
            if start >= done:
                spans[i] = (start + shift, end + shift)
    return ("".join(pieces) + text[done:], spans) if removals else (text, spans)


def _tells_by_colour(text: str) -> bool:
    """Whether only colours tell what a diff removes from what it adds, as in ``git diff --color-words``."""
    return diff_start(text) >= 0 and _CHANGED_LINE.search(text) is None


def _allowed(removals: Iterable[Removal], protected: Sequence[Span], text: str) -> Iterator[Removal]:
    """Yield the removals that meet no protected span; a note goes to the first of its group that is left."""
    note = ""
    for one in removals:
        note = one.note or (note if one.continues else "")
        if not any(_meet(one, _in_first_round(one, span, text)) for span in protected):
            yield one._replace(note=note)
            note = ""


def _meet(removal: Removal, span: Span) -> bool:
    return removal.start < span[1] and span[0] < removal.end


def _in_first_round(removal: Removal, span: Span, text: str) -> Span:
    """Return where the first round has what a span in a later one has; the span itself if none has it."""
    if not removal.round or span[0] < removal.start or not _meet(removal, span):
        return span
    back = ((span[0] - removal.start) // removal.round + 1) * removal.round
    first = span[0] - back, span[1] - back
    return first if text[slice(*first)] == text[slice(*span)] else span


def _frames(text: str) -> Iterator[Removal]:
    """Yield the frames of spinners, but for the first and the last of each."""
    for frames in _FRAMES.finditer(text):
        _, second, *_, last = _SPINNER.finditer(text, *frames.span())
        if last.start() - second.start() >= WORTH_FOLDING:
            yield Removal(second.start(), last.start(), omission_note(last.start() - second.start()))


def _rounds(text: str) -> Iterator[Removal]:
    """Yield the rounds after the first of every cycle of lines."""
    lines = text.split("\n", MOST_LINES)
    if len(text) - sum(map(len, once := set(lines))) - len(once) < WORTH_FOLDING:
        return  # too few lines are there twice
    lines.append("")  # the last round may lack the blank line between two rounds
    again = _next_equal(lines)
    i = at = 0
    while i < len(lines):
        if again[i] - i <= LONGEST_CYCLE:
            length, rounds = _cycle(lines, again, i)
            size = sum(map(len, lines[i : i + length])) + length
            left_out = size * (rounds - 1)
            if left_out >= WORTH_FOLDING:
                start, end = at + size, min(at + size + left_out - 1, len(text))  # the last line feed stays
                what = "line" if length == 1 else f"{length} lines"
                yield Removal(start, end, f"[the {what} above, {rounds:,} times in all]", size)
                i, at = i + length * rounds, at + size + left_out
                continue
        length = again[i] - i
        if LEAST_SIMILAR <= length <= LONGEST_CYCLE and again[i + length] == i + 2 * length:
            rounds, same = _similar_rounds(lines, again, i)
            if same:
                yield from _same_lines(lines, i, at, same, rounds, len(text))
                at += sum(map(len, lines[i : i + length * rounds])) + length * rounds
                i += length * rounds
                continue
        at += len(lines[i]) + 1
        i += 1


def _next_equal(lines: Sequence[str]) -> list[int]:
    """Return for each line where the same line comes next; beyond the end if it does not."""
    found = [len(lines) + LONGEST_CYCLE] * len(lines)
    last: dict[str, int] = {}
    for i, line in enumerate(lines):
        before = last.get(line)
        if before is not None:
            found[before] = i
        last[line] = i
    return found


def _cycle(lines: Sequence[str], again: Sequence[int], start: int) -> tuple[int, int]:
    """Return the length of the cycle that begins at a line and leaves out the most, and its rounds."""
    best = (1, 1)
    later = start
    for _ in range(CANDIDATES):
        later = again[later]
        length = later - start
        if later >= len(lines) or length > LONGEST_CYCLE:
            break
        if lines[start + length - 1] != lines[min(later + length, len(lines)) - 1]:
            continue
        one = lines[start:later]
        rounds = 1
        while lines[start + rounds * length : later + rounds * length] == one:
            rounds += 1
        if (rounds - 1) * length > (best[1] - 1) * best[0]:
            best = (length, rounds)
    return best


def _similar_rounds(lines: Sequence[str], again: Sequence[int], start: int) -> tuple[int, list[bool]]:
    """Return the rounds that begin with a line, and which of their lines are the same in all; none if few."""
    length = again[start] - start
    rounds, at = 1, start
    says = len(lines[start]) >= SAYS_SOMETHING
    while says and again[at] == at + length and at + 2 * length < len(lines):
        rounds, at = rounds + 1, at + length
    first = lines[start : start + length]
    each = [lines[start + n * length : start + (n + 1) * length] for n in range(1, rounds)]
    same = [all(one[j] == line for one in each) for j, line in enumerate(first)]
    told = [line for line in first if line.strip()]
    shared = [line for line, is_same in zip(first, same, strict=True) if is_same and line.strip()]
    saved = (sum(map(len, shared)) + len(shared)) * (rounds - 1)
    told_twice = sum(len(line) >= SAYS_SOMETHING for line in shared) >= 2
    if rounds < FEWEST_SIMILAR or not told_twice or 2 * len(shared) < len(told) or saved < 2 * WORTH_FOLDING:
        return 1, []
    return rounds, same


def _same_lines(
    lines: Sequence[str], start: int, at: int, same: Sequence[bool], rounds: int, size: int
) -> Iterator[Removal]:
    """Yield the lines of rounds after the first that are the same.

    The first begins at the offset ``at`` of a text with ``size`` characters.
    """
    length = len(same)
    note = f"[the {length} lines above, {rounds:,} times in all; of the others what differs:]\n"
    for i in range(start, start + length * rounds):
        end = at + len(lines[i]) + 1
        if i >= start + length and same[(i - start) % length]:
            yield Removal(at, min(end, size), note, continues=not note)
            note = ""
        at = end
