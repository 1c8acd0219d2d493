"""Excerpts of source files and documents: whole blocks about the current work, and the names of the rest.

``Source(text, about, structure)`` takes a file as a tool showed it, or the report of another agent, and its
lines with definitions or headings; ``choose`` returns the lines to show, and ``not_shown`` what notes on gaps
name. Which blocks of a text are whole is in ``blocks.py``, and which are shown in ``block_choice.py``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, takewhile

from clew.compaction.propose.block_choice import BlockChoice, whole_blocks
from clew.compaction.propose.blocks import Blocks, is_document
from clew.compaction.propose.file_outline import Definition, definitions
from clew.compaction.propose.line_kinds import LISTING, SEARCHED, lines_about
from clew.compaction.propose.lines import Span
from clew.message.text import LINE_NUMBER, once

_CONFLICT = re.compile(rf"(?:\s*{LINE_NUMBER})?([<>])\1{{6}} ")
"""A line with which one side of a merge conflict begins, or the other ends."""
NESTED = 0.3
"""Share of the lines of a listing that are inside others if it is code; chosen by hand."""
EXAMPLES_SHARE = 0.7
"""Share of the excerpt of a report for the code that it quotes: types and signatures are what was asked for.
Chosen by hand."""


class Source:
    """A source file or a document, with its blocks, and the terms of the current work with their weights."""

    def __init__(self, text: str, about: Mapping[str, float], structure: Sequence[Span]) -> None:
        self.text = text
        self._about = about
        self._structure = structure

    def choose(self, room: int, longest: int, edges: Collection[Span], for_names: int) -> list[Span]:
        """Return the lines to show: whole blocks at both ends, and those about the current work.

        At most ``for_names`` characters of the room are left for the names of what is not shown.
        """
        blocks = self.blocks
        starts = [start for start, _ in blocks.lines]
        names = sum(len(one.name) + 2 for one in self.definitions) if for_names else 0
        shown = whole_blocks(
            blocks, {bisect_left(starts, line[0]) for line in edges if line[0] <= starts[-1]}
        )
        choice = BlockChoice(blocks, room - min(names, for_names), longest, shown)
        for conflict in self._conflicts:
            choice.show_whole(conflict)
        examples = takewhile(lambda _: choice.left > room * (1 - EXAMPLES_SHARE), self._examples)
        choice.show(bisect_left(starts, start) for start, _ in chain(examples, self._best))
        return [blocks.lines[line] for line in sorted(choice.shown)]

    @once
    def _best(self) -> list[Span]:
        """The lines about the current work, best first."""
        return lines_about(self.text[:SEARCHED], self._about, self._structure)[0]

    @property
    def _conflicts(self) -> Iterator[range]:
        """Yield the line numbers of each merge conflict: a part of one does not tell what to choose."""
        begun: int | None = None
        for number, (start, end) in enumerate(self.blocks.lines if "<<<<<<<" in self.text else ()):
            mark = _CONFLICT.match(self.text, start, end)
            if mark and mark[1] == "<":
                begun = number
            elif mark and begun is not None:
                yield range(begun, number + 1)
                begun = None

    @property
    def _examples(self) -> Iterator[Span]:
        """Yield the definitions in a report: types and signatures that it is about."""
        if self.is_document and not LISTING.match(self.text):
            yield from (line for line in self._structure if line not in self._headings)

    @once
    def is_document(self) -> bool:
        """Whether the text has sections."""
        return is_document(self.text, self._structure)

    @once
    def _headings(self) -> set[Span]:
        """The lines with which the sections of a document begin; comments in code are none."""
        numbers = zip(self.blocks.all, self.blocks.defines, strict=True)
        return {self.blocks.lines[block.head] for block, is_section in numbers if is_section}

    @once
    def blocks(self) -> Blocks:
        """The blocks of the text; of a giant, those at its beginning."""
        text = self.text
        if len(text) > SEARCHED:
            text = text[: text.rfind("\n", 0, SEARCHED) + 1] or text[:SEARCHED]
        return Blocks(text, self._structure)

    @property
    def is_nested(self) -> bool:
        """Whether many lines are inside others; of a table or a log, each is a block of its own."""
        blocks = self.blocks.all
        return sum(block.parent >= 0 for block in blocks) > NESTED * len(blocks)

    @once
    def definitions(self) -> list[Definition]:
        """The names that the file defines, or the headings of a document."""
        if self.is_document:
            return definitions(self.text, (line for line in self._structure if line in self._headings))
        return definitions(self.text, self._structure)

    def not_shown(self, lines: Collection[Span], room: int) -> list[Definition]:
        """Return the definitions that these lines do not show, as many as fit, at the left margin first."""
        starts = {start for start, _ in lines}
        found = []
        for one in sorted(one for one in self.definitions if one.start not in starts):
            room -= len(one.name) + 2
            if room >= 0:
                found.append(one)
        return sorted(found, key=lambda one: one.start)
