"""Excerpts of diffs: the names of the files, then the hunks about the current work, then changed lines.

``Diff`` takes a text such as the output of ``git diff``; ``choose`` returns the lines to show in a number of
characters. Without hunks the text is not a diff, and ``excerpt.py`` treats it like any other output. A diff
of three files may become::

    diff --git a/rates.py b/rates.py
    @@ -10,6 +10,7 @@ def rate(day):
    +    factor = 1.0
    [… 41 lines, kept as m9]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from clew.compaction.propose.line_kinds import SEARCHED
from clew.compaction.propose.lines import Span, fill, line_size, lines_of
from clew.compaction.propose.tail import diff_start
from clew.message.text import once

BEFORE_SHARE = 0.15
"""Share of the room for what precedes the diff, such as a status; as for other outputs."""
LEAST_FOR_PART = 200
"""Characters from which a hunk that does not fit is shown in part; chosen by hand."""
_DIFF = re.compile(r"^(?:diff --git .*|@@ .*)$", re.MULTILINE)
"""A line with which the changes to a file, or one hunk of them, begin."""
_FILE_CHANGE = ("deleted file", "new file", "rename from", "rename to")
FEWEST_HUNKS, FILES_IN_DIFF = 2, 0.5
"""Such lines from which a text counts as a diff, and the share of its excerpt for the names of files; chosen
by hand."""


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

    def choose(self, room: int, longest: int) -> set[Span]:
        """Return what precedes a diff, the names of its files, hunks, and the changed lines of others.

        Hunks about the current work come first, whole if they fit. Of the others, changed lines come before
        the lines around them.
        """
        before = takewhile(lambda line: line[0] < self.hunks[0][0][0], lines_of(self.text))
        files = (line for hunk in self.hunks for line in self._names_file(hunk))
        chosen = set(fill(before, int(room * BEFORE_SHARE), longest))
        chosen.update(fill(files, int(room * FILES_IN_DIFF), longest))
        room -= sum(line_size(line, longest) for line in chosen)
        hunks = [hunk for hunk in self._related_hunks if not any(self._names_file(hunk))]
        related = [hunk for hunk in hunks if self._terms_in(hunk)]
        changed = [self._changed_lines(hunk) for hunk in hunks]
        begun = False
        for lines in (*related, *changed, *hunks):
            new = [line for line in lines if line not in chosen]
            cost = sum(line_size(line, longest) for line in new)
            if cost > room and not begun and room >= LEAST_FOR_PART and lines in changed:
                begun, new = True, fill(iter(new), room, longest)
                cost = sum(line_size(line, longest) for line in new)
            if cost <= room:
                chosen.update(new)
                room -= cost
        return chosen

    def _names_file(self, hunk: Sequence[Span]) -> Iterator[Span]:
        """Yield the lines that say which file changes, and whether it is new, deleted or renamed."""
        if self.text.startswith("diff", hunk[0][0]):
            yield hunk[0]
            yield from (line for line in hunk[1:] if self.text.startswith(_FILE_CHANGE, line[0]))

    def _changed_lines(self, hunk: Sequence[Span]) -> list[Span]:
        """Return the header of a hunk and the lines that it adds or removes.

        Nothing of the header of a file, nor of a hunk that removes a whole file: that its name says.
        """
        first = self.text[slice(*hunk[0])]
        if first.startswith("diff") or " +0,0 @@" in first:
            return []
        return [hunk[0], *(line for line in hunk[1:] if self.text[line[0] : line[0] + 1] in ("+", "-"))]

    @once
    def _related_hunks(self) -> list[list[Span]]:
        """The hunks of a diff, those with the most terms of the current work first."""
        return sorted(self.hunks, key=lambda hunk: -self._terms_in(hunk))

    def _terms_in(self, hunk: Sequence[Span]) -> float:
        """Return the weight of the terms of the current work that a hunk names."""
        text = self.text[hunk[0][0] : hunk[-1][1]]
        return sum(weight for term, weight in self._about.items() if term in text)
