"""What a person says a compaction should keep (``focus="retry limits"``), and the lines about it."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator

from clew.compaction.plan import Claim
from clew.compaction.propose.lines import lines_of
from clew.message import Cite, Item, Text, ToolResult, words

_WORDS = re.compile(r"[^\W_]+")
_EMPTY = re.compile(
    r"a|an|and|or|of|in|on|at|to|for|from|with|about|into|is|are|was|be|it|its|the|this|that|these|those|i|we"
    r"|you|my|our|your|me|us|not|no|all|any|how|what|why|when|where|which|who|do|does|did|keep|focus|please"
)
"""Words that carry no topic."""
_SHORTEST = 2
FOCUS_SHARE = 0.1
"""The same if a person said what matters: lines about it come first."""
SHORTEST_LINE, LONGEST_LINE = 4, 400
"""Characters of a line that is kept for the focus: a longer one is data. Chosen by hand."""
MOST_LINES = 200
"""Lines of one message that are compared; chosen by hand."""


class Focus:
    """A person's words on what matters; empty ones match nothing."""

    def __init__(self, said: str | None) -> None:
        words = dict.fromkeys(word.lower() for word in _WORDS.findall(said or ""))
        telling = [word for word in words if len(word) >= _SHORTEST and not _EMPTY.fullmatch(word)]
        self._patterns = [re.compile(_beginning(word)) for word in telling]
        self._pattern = re.compile("|".join(map(_beginning, telling))) if telling else None

    def __bool__(self) -> bool:
        """Whether anything was said."""
        return self._pattern is not None

    def meets(self, text: str) -> bool:
        """Whether a text has a word that begins with one of these, also inside a name of code."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def first(self, claims: list[Claim]) -> list[Claim]:
        """Return the claims, those that match first."""
        return sorted(claims, key=lambda claim: not self.meets(claim.text)) if self else claims

    def lines(self, items: Iterable[Item], room: int) -> list[Cite]:
        """Return the places of the lines that are about it, in order, of at most so many characters.

        Lines with more of its words come first, then later ones; the same words are kept once.
        """
        if not self:
            return []
        rated = {text: (count, cite) for count, cite, text in self._rated(items)}
        best = heapq.nlargest(
            MOST_LINES, rated.values(), key=lambda one: (one[0], one[1].number, -one[1].start)
        )
        chosen: list[Cite] = []
        for _, cite in best:
            room -= (cite.end or 0) - cite.start + 1
            if room < 0:
                break
            chosen.append(cite)
        return sorted(chosen, key=lambda cite: (cite.number, cite.part, cite.start))

    def _rated(self, items: Iterable[Item]) -> Iterator[tuple[int, Cite, str]]:
        """Yield lines with how many of its words they have."""
        for item in items:
            for index, part in enumerate(item.message.parts):
                text = words(part) if isinstance(part, Text | ToolResult) else ""
                found = 0
                for start, end in lines_of(text) if self.meets(text) else ():
                    line = text[start:end].strip()
                    if SHORTEST_LINE <= len(line) <= LONGEST_LINE and self.meets(line):
                        yield (
                            sum(one.search(line) is not None for one in self._patterns),
                            Cite(item.id, index, start, end),
                            line,
                        )
                        if (found := found + 1) == MOST_LINES:
                            break


def _beginning(word: str) -> str:
    """Return a pattern for words that begin so: ``auth`` in ``auth_token``, ``Authentic``, ``userAuth``."""
    inside_name = re.escape(word.capitalize())
    return rf"(?i:(?<![^\W\d_]){re.escape(word)})|(?<=[a-z]){inside_name}"
