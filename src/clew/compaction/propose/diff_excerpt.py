"""Excerpts of diffs: the names of all files, and hunks of source files before those of tests and lock files.

``Diff`` takes a text such as the output of ``git diff``; ``choose`` returns the lines to show in a number of
characters. Each file gets a fair part of the room: of its hunks, those about the current work come first, and
added and removed lines before the lines around them. A hunk that does not fit is shown by whole blocks.
Without hunks the text is not a diff, and ``excerpt.py`` treats it like any other output. A diff of three
files may become::

    diff --git a/rates.py b/rates.py
    @@ -10,6 +10,7 @@ def rate(day):
    +    factor = 1.0
    [… 41 lines, kept as m9: 3 hunks, +12 −4]
    diff --git a/uv.lock b/uv.lock
    [… 180 lines: 2 hunks, +90 −61]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from clew.compaction.propose.block_choice import LEAST_PART, BlockChoice
from clew.compaction.propose.blocks import Blocks
from clew.compaction.propose.file_outline import definitions, outline_of
from clew.compaction.propose.line_kinds import SEARCHED, STRUCTURE, lines_about
from clew.compaction.propose.lines import Span, fill, line_size, lines_of
from clew.compaction.propose.tail import diff_start, water_level
from clew.compaction.propose.topics import is_generated
from clew.message.text import once

BEFORE_SHARE = 0.15
"""Share of the room for what precedes the diff, such as a status; as for other outputs."""
LEAST_FOR_FILE = 400
"""Characters that a file gets at least: with less, a hunk of it is hardly ever whole. Chosen by hand."""
USUAL_CONTEXT = 300
"""Characters of unchanged lines that a hunk keeps: three lines before and after, as diffs usually have."""
_DIFF = re.compile(r"^(?:diff --git .*|@@ .*)$", re.MULTILINE)
"""A line with which the changes to a file, or one hunk of them, begin."""
_FILE_CHANGE = ("deleted file", "new file", "rename from", "rename to")
_CHANGED = re.compile(r"^(?:\+(?!\+\+ )|-(?!-- ))", re.MULTILINE)
_IMPORT = re.compile(
    r"^[-+ ][ \t]*(?:import|from|use|using|#include|require)\b|^[-+ ].*\brequire\(", re.MULTILINE
)
_ADDED = re.compile(r"^\+", re.MULTILINE)
LONGEST_NAMES, NAMES_SHARE = 160, 0.1
"""Characters for the names of what one gap adds, and share of an excerpt for all of them; chosen by hand."""
FEWEST_HUNKS, FILES_IN_DIFF = 2, 0.5
"""Such lines from which a text counts as a diff, and the share of its excerpt for the names of files; chosen
by hand."""
_OF_TESTS = re.compile(
    r"(?:^|[/._-])(?:tests?|specs?|__tests__|fixtures?|testdata|test-data|snapshots?|mocks?|e2e)(?:[/._-]|$)"
    r"|(?:^|[/._-])lock\b|\.sum$",
    re.IGNORECASE,
)
"""The path of a file that checks others or lists what is installed: a change is understood without it."""


class _File(NamedTuple):
    """The changes to a file in a diff."""

    names: list[Span]
    """The lines that say which file changes, and whether it is new, deleted or renamed."""
    hunks: list[list[Span]]
    is_secondary: bool


class Diff:
    """A text that may be a diff, and the terms of the current work with their weights."""

    def __init__(self, text: str, about: Mapping[str, float]) -> None:
        self.text = text
        self._about = about

    @once
    def hunks(self) -> list[list[Span]]:
        """The lines of each file header and each hunk, if the text is a diff."""
        first = diff_start(self.text)
        if first < 0:
            return []
        text = self.text[:SEARCHED]
        starts = [one.start() for one in _DIFF.finditer(text, first)]
        if len(starts) < FEWEST_HUNKS:
            return []
        hunks: list[list[Span]] = []
        for line in lines_of(text, starts[0]):
            if len(hunks) < len(starts) and line[0] == starts[len(hunks)]:
                hunks.append([])
            hunks[-1].append(line)
        return hunks

    @once
    def _files(self) -> list[_File]:
        files: list[_File] = []
        for hunk in self.hunks:
            first = self.text[slice(*hunk[0])]
            if first.startswith("diff"):
                names = [hunk[0], *(line for line in hunk if self.text.startswith(_FILE_CHANGE, line[0]))]
                path = first.rpartition(" b/")[2]
                files.append(_File(names, [], is_generated(path) or _OF_TESTS.search(path) is not None))
            elif " +0,0 @@" not in first:  # that a file is deleted, its name says
                files[-1].hunks.append(hunk)
        return files

    def choose(self, room: int, longest: int) -> set[Span]:
        """Return what precedes a diff, the names of its files, and hunks: those of source files first."""
        before = takewhile(lambda line: line[0] < self.hunks[0][0][0], lines_of(self.text))
        files = sorted(self._files, key=lambda file: file.is_secondary)
        chosen = set(fill(before, int(room * BEFORE_SHARE), longest))
        names = (line for file in files for line in file.names)
        chosen.update(fill(names, int(room * FILES_IN_DIFF), longest))
        left = int(room * (1 - NAMES_SHARE)) - _size(chosen, longest)
        for is_secondary in (False, True):
            group = [file for file in files if file.is_secondary is is_secondary and file.hunks]
            left -= self._choose_from(group, chosen, left, longest)
        return chosen

    def _choose_from(self, files: Sequence[_File], chosen: set[Span], room: int, longest: int) -> int:
        """Choose hunks of these files, as many as fit in a room; return the room they take."""
        left = room
        level = water_level([_size(line for hunk in file.hunks for line in hunk) for file in files], room)
        for file in sorted(files, key=lambda file: -max(map(self._terms_in, file.hunks))):
            given = min(left, max(level, LEAST_FOR_FILE))
            for hunk in self._related_first(file.hunks):
                lines = self._form_of(hunk, given, longest)
                cost = _size(lines, longest)
                chosen.update(lines)
                given -= cost
                left -= cost
        for hunk in self._related_first([hunk for file in files for hunk in file.hunks]):
            new = [line for line in hunk if line not in chosen]
            cost = _size(new, longest)
            if cost <= left:
                chosen.update(new)
                left -= cost
        return room - left

    def _form_of(self, hunk: list[Span], room: int, longest: int) -> list[Span]:
        """Return a hunk whole or without most unchanged lines, or whole blocks of it, as there is room."""
        changed = [hunk[0], *(line for line in hunk if _CHANGED.match(self.text, line[0]))]
        whole, least = _size(hunk, longest), _size(changed, longest)
        if whole <= min(room, least + USUAL_CONTEXT):
            return hunk
        return changed if least <= room else self._part_of(hunk, room, longest)

    def _part_of(self, hunk: Sequence[Span], room: int, longest: int) -> list[Span]:
        """Return whole blocks of a hunk that does not fit; nothing if not even one does."""
        start = hunk[0][0]
        # The marks become indentation, so that offsets stay the same.
        text = _CHANGED.sub(" ", self.text[start : hunk[-1][1]])
        structure = [found.span() for found in STRUCTURE.finditer(text)]
        choice = BlockChoice(Blocks(text, structure), room, longest, (0,))
        at = {line[0] - start: number for number, line in enumerate(hunk)}
        best, _ = lines_about(text, self._about, structure)
        wanted = (line for line in best if _CHANGED.match(self.text, start + line[0]))
        choice.show(at[line[0]] for line in wanted)
        shown = [hunk[number] for number in sorted(choice.shown)]
        changed = (line for line in shown if _CHANGED.match(self.text, line[0]))
        return shown if _size(changed) >= LEAST_PART else []

    def _related_first(self, hunks: Sequence[list[Span]]) -> list[list[Span]]:
        """Return hunks, those with the most terms of the current work first; what only imports names last."""
        return sorted(hunks, key=lambda hunk: (self._only_imports(hunk), -self._terms_in(hunk)))

    def _only_imports(self, hunk: Sequence[Span]) -> bool:
        text = self.text[hunk[0][1] : hunk[-1][1]]
        return _IMPORT.search(text) is not None and STRUCTURE.search(_CHANGED.sub(" ", text)) is None

    def _terms_in(self, hunk: Sequence[Span]) -> float:
        """Return the weight of the terms of the current work that a hunk names."""
        text = self.text[hunk[0][0] : hunk[-1][1]]
        return sum(weight for term, weight in self._about.items() if term in text)

    def left_out(self, start: int, end: int) -> str:
        """Return what a gap leaves out: hunks, how many lines they add and remove, and what they define."""
        hunks = sum(start <= hunk[0][0] < end for file in self._files for hunk in file.hunks)
        marks = [found[0] for found in _CHANGED.finditer(self.text, start, end)]
        if not marks:
            return ""
        counts = f"+{marks.count('+'):,} −{marks.count('-'):,}"
        text = _ADDED.sub(" ", self.text[start:end])
        lines = (
            found.span()
            for found in STRUCTURE.finditer(text)
            if self.text.startswith("+", start + found.start())
        )
        names = outline_of(definitions(text, lines), LONGEST_NAMES, 1)
        said = (f"{hunks:,} {'hunk' if hunks == 1 else 'hunks'}" if hunks else "", counts, names)
        return ", ".join(filter(None, said))


def _size(lines: Iterable[Span], longest: int = 1 << 30) -> int:
    return sum(line_size(line, longest) for line in lines)
