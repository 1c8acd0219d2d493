"""Choose whole blocks of a source file or document to show in a number of characters.

A function is shown whole, or its signature with whole statements of it; single lines between gaps could
neither be edited nor understood. ``BlockChoice(blocks, 2_000).show(wanted)`` takes the numbers of the lines
that say what the work is about, best first, and ``shown`` has the numbers of the lines to show::

    export async function exportZip(id: string) {     the definition of a wanted line
      const files = await list(id);
      [… 40 lines: 1790 exportPatch, 1801 getOperation]
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import accumulate, takewhile

from clew.compaction.propose.blocks import Blocks
from clew.compaction.propose.lines import line_size
from clew.message.text import once

LEAST_LINES = 3
"""Lines of a block that is shown apart from others: fewer say little without what is around them."""
PART_SHARE = 0.5
"""Share of the room for one part of a definition that does not fit whole; chosen by hand."""
LEAST_PART = 200
"""Characters of a part of a definition that is shown apart from others; chosen by hand."""
PER_PIECE = 600
"""Characters of an excerpt for each separate piece of it: a dozen lines. Chosen by hand."""
SPARE_SHARE = 0.3
"""Share of the room: if no whole block fits and more is left, the beginning of the next block is shown..."""
LEAST_BEGINNING = 6
"""...if it has so many lines. Both chosen by hand."""
GAP_SIZE = 30
"""Characters of the note before or behind a piece."""


class BlockChoice:
    """The lines shown of a text, and the characters that are left for more."""

    def __init__(self, blocks: Blocks, room: int, longest: int, shown: Iterable[int] = ()) -> None:
        """Begin with lines that are shown in any case; of a line at most ``longest`` characters are shown."""
        self._blocks = blocks
        self._sizes = [line_size(line, longest) for line in blocks.lines]
        self._sums = [0, *accumulate(self._sizes)]
        self.shown = set(shown)
        self._of_shown = sum(self._sizes[line] for line in self.shown)
        self._room = room
        self.left = room - self._of_shown
        self._pieces = 1 + max(0, room) // PER_PIECE
        self._most_for_part = int(room * PART_SHARE)

    def show_whole(self, lines: range) -> None:
        """Show lines together if they fit, whatever blocks they are in."""
        self._add(lines)

    def show(self, wanted: Iterable[int]) -> None:
        """Show the blocks of wanted lines, then those next to them; in a document, only of their sections."""
        before = set(self.shown)
        for line in wanted:
            if line not in self.shown and self._pieces > 0:
                self._show_around(line)
        near = self.shown - before
        self._show_more(set(near))
        if self.left > self._room * SPARE_SHARE:
            self._show_beginning(near)

    def _show_beginning(self, near: set[int]) -> None:
        """Show the beginning of the next block, if a lot of room is left that no whole block fits."""
        is_blank, first = self._blocks.is_blank, min(near or self.shown, default=0)
        run = takewhile(lambda line: line in self.shown or is_blank[line], range(first, len(is_blank)))
        start = max(run, default=first - 1) + 1
        end = bisect_right(self._sums, self._sums[start] + self.left - GAP_SIZE) - 1
        if end - start >= LEAST_BEGINNING:
            self._add(set(range(start, end)))

    def _show_around(self, line: int) -> None:
        """Show the definition of a line, or its signature and the largest part with the line that fits."""
        blocks = self._blocks
        around = list(blocks.around(line))
        if not around:
            return
        unit = next((at for at, number in enumerate(around) if self._is_unit(number)), len(around) - 1)
        block = blocks.all[around[unit]]
        if self._add(range(block.start, block.end)):
            return
        signature = blocks.signature(around[unit])
        room = min(PER_PIECE, self.left - self._cost(signature) - GAP_SIZE)
        for number in reversed(around[:unit]):
            own = self._own(number)
            if self._least_cost(own) <= self._most_for_part >= self._cost(own):
                part = self._with_neighbours(number, room)
                is_enough = self._cost(part) >= LEAST_PART or len(part) >= LEAST_LINES
                if is_enough and self._add({*signature, *part}):
                    return

    def _is_unit(self, number: int) -> bool:
        block = self._blocks.all[number]
        return self._blocks.defines[number] and block.end - block.start >= LEAST_LINES

    def _own(self, number: int) -> range:
        block = self._blocks.all[number]
        return range(block.start, block.end)

    def _with_neighbours(self, number: int, room: int) -> set[int]:
        """Return the lines of a block and of those next to it that fit in a room."""
        siblings = self._inside[self._blocks.all[number].parent]
        at = bisect_left(siblings, number)
        lines = set(self._own(number))
        left = room - self._cost(lines)
        first, last = at, at
        while True:
            after = last + 1 < len(siblings) and self._own(siblings[last + 1])
            before = first > 0 and self._own(siblings[first - 1])
            if after and (cost := self._cost(after)) <= left:
                last += 1
                lines.update(after)
            elif before and (cost := self._cost(before)) <= left:
                first -= 1
                lines.update(before)
            else:
                return lines
            left -= cost

    def _add(self, lines: Iterable[int]) -> bool:
        """Show lines if they fit."""
        if isinstance(lines, range) and self._least_cost(lines) > self.left:
            return False
        new = [line for line in lines if line not in self.shown]
        cost = self._cost(new)
        if cost + GAP_SIZE > self.left:
            return False
        self.shown.update(new)
        self._of_shown += cost
        self.left -= cost + GAP_SIZE
        self._pieces -= 1
        return True

    def _least_cost(self, lines: range) -> int:
        """Return a bound that needs no look at each line: as if all that is shown were among them."""
        return self._sums[lines.stop] - self._sums[lines.start] - self._of_shown

    def _cost(self, lines: Iterable[int]) -> int:
        return sum(self._sizes[line] for line in lines if line not in self.shown)

    def _show_more(self, near: set[int]) -> None:
        """Show whole blocks as long as there is room: those nearest to some lines, or to the beginning."""
        blocks, distances = self._blocks, self._distances(near)
        only_begun = blocks.is_document and len(near) > 0
        queue = [(distances[blocks.all[number].head], number) for number in self._inside[-1]]
        heapify(queue)
        while queue and self.left > GAP_SIZE:
            _, number = heappop(queue)
            lines = self._own(number)
            is_begun = any(line in self.shown for line in lines)
            if only_begun and blocks.all[number].parent < 0 and not is_begun:
                continue
            pieces, touches = self._pieces, is_begun or self._touches(lines)
            if (touches or (self._is_unit(number) and pieces > 0)) and self._add(lines):
                if touches:  # it is no piece of its own
                    self._pieces, self.left = pieces, self.left + GAP_SIZE
                continue
            if not near and self._is_unit(number):
                near.update(blocks.signature(number))
                is_begun = self._add(near)
            for child in self._inside[number] if is_begun else filter(self._is_unit, self._inside[number]):
                heappush(queue, (distances[blocks.all[child].head], child))

    def _touches(self, lines: range) -> bool:
        """Whether only blank lines are between lines and what is shown, or nothing is."""
        is_blank = self._blocks.is_blank
        before, after = lines.start - 1, lines.stop
        while before > 0 and is_blank[before] and before not in self.shown:
            before -= 1
        while after < len(is_blank) - 1 and is_blank[after] and after not in self.shown:
            after += 1
        return before in self.shown or after in self.shown

    def _distances(self, near: set[int]) -> list[int]:
        """Return how far each line is from some lines, or if there are none, from the first definition."""
        count = len(self._blocks.lines)
        defined = (number for number in range(len(self._blocks.all)) if self._is_unit(number))
        first = next((self._blocks.all[number].head for number in defined), 0)
        if not near:  # what is before it, such as imports, comes last
            return [line - first if line >= first else count + first - line for line in range(count)]
        found = [count] * count
        for lines in (range(count), reversed(range(count))):
            away = count
            for line in lines:
                away = 0 if line in near else away + 1
                found[line] = min(found[line], away)
        return found

    @once
    def _inside(self) -> dict[int, list[int]]:
        """The blocks directly in each block; of none, those in no other."""
        found: dict[int, list[int]] = {number: [] for number in range(-1, len(self._blocks.all))}
        for number, block in enumerate(self._blocks.all):
            found[block.parent].append(number)
        return found


def whole_blocks(blocks: Blocks, lines: set[int]) -> set[int]:
    """Return lines without those of a block that they show in part; a section may be shown in part."""
    cut = set[int]()
    for line in lines:
        for number in blocks.around(line):
            block = range(blocks.all[number].start, blocks.all[number].end)
            is_section = blocks.is_document and blocks.defines[number]
            if not is_section and not lines.issuperset(block):
                cut.update(block)
    return {line for line in lines - cut if not blocks.is_blank[line]}
