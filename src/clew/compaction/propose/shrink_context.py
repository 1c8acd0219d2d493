"""Everything needed to shorten the parts of one view: the view, its originals, and what must stay readable.

A part of a message may be shown shorter than it is. The shorter text is always made from the original, and
some places in it must stay readable (``protected``), such as the words of a rule when no digest states it.
``ShrinkContext`` holds these, for the pruning rules (``prune.py``) and for excerpts (``shrink.py``)::

    context = ShrinkContext(view, counter, protected={"m3": [Cite("m3", 0, 120, 158)]})
    shorten(context, range(10), most_tokens=200)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from clew.compaction.propose.excerpt import ExcerptSource
from clew.compaction.propose.fold import folded
from clew.compaction.propose.lines import Span
from clew.message import (
    Cite,
    Item,
    Message,
    Part,
    Place,
    Thinking,
    words,
)
from clew.tokens import TokenCounter


class TextKind(Enum):
    """Who wrote a text, which decides what an excerpt of it looks for."""

    TOOL = "tool"
    """A tool, or a person."""
    GUIDE = "guide"
    """A tool or a harness: a text that says how to work, such as a skill."""
    PROSE = "prose"
    """The agent, as prose."""
    ARGUMENT = "argument"
    """The agent, as an argument of a call."""


ExcerptSources: TypeAlias = dict[tuple[str, TextKind], ExcerptSource]
Folds: TypeAlias = dict[tuple[str, tuple[Span, ...]], tuple[str, list[Span]]]


@dataclass(frozen=True, slots=True)
class ShrinkContext:
    """A view to shrink, and the places in it that must stay readable."""

    view: Sequence[Item]
    counter: TokenCounter
    find_original: Callable[[str], Message | None] | None = None
    """Finds a message in its original form; without it, the view has the originals."""
    protected: dict[str, list[Cite]] = field(default_factory=dict)
    """Places in the originals that must stay readable, by message."""
    about: Mapping[str, float] = field(default_factory=dict)
    """Terms of the current work with their weights, which excerpts look for."""
    excerpt_sources: ExcerptSources = field(default_factory=dict, repr=False)
    """Texts that excerpts were made of, so that none is searched twice."""
    sizes: Sequence[int] | None = None
    """The tokens of the view's messages, if they are known."""
    guides: Collection[Place] = ()
    """Parts that say how to work: a skill, a task file."""
    names: Mapping[str, float] = field(default_factory=dict)
    """The names among the terms, all with the same weight, for what the agent wrote and for guides."""
    folds: Folds = field(default_factory=dict, repr=False)
    """Texts without colours and repeated lines, by what must stay readable in them."""
    unpruned: Sequence[Item] | None = None
    """The view before pruning; without it, nothing has been pruned."""

    def may_free(self, place: Place, tokens: int) -> bool:
        """Return False if the message of a part is too small for a smaller form that frees so much."""
        return self.sizes is None or self.sizes[place.message] >= tokens

    def original_part(self, place: Place) -> Part:
        """Return a part in its original form."""
        return self._original_parts(place.message)[place.part][1]

    def _original_parts(self, index: int) -> Sequence[tuple[int, Part]]:
        """Return the original of each part that the view shows of a message, with its number there.

        An earlier compaction may have removed thinking blocks from the view.
        """
        item = self.view[index]
        message = (self.find_original(item.id) if self.find_original else None) or item.message
        parts = list(enumerate(message.parts))
        if len(parts) != len(item.message.parts):
            parts = [(number, part) for number, part in parts if not isinstance(part, Thinking)]
        return parts if len(parts) == len(item.message.parts) else list(enumerate(item.message.parts))

    def is_pruned(self, place: Place) -> bool:
        """Whether a rule of this compaction has left out lines of a part."""
        if self.unpruned is None:
            return False
        return self.unpruned[place.message].message.parts[place.part] is not self.shown_part(place)

    def shown_part(self, place: Place) -> Part:
        """Return a part as the view shows it."""
        return self.view[place.message].message.parts[place.part]

    def protected_spans(self, place: Place) -> list[Span]:
        """Return the characters of a part that must stay readable."""
        cites = self.protected.get(self.view[place.message].id, ())
        if not cites:
            return []
        number, part = self._original_parts(place.message)[place.part]
        end = len(words(part))
        return [(cite.start, end if cite.end is None else cite.end) for cite in cites if cite.part == number]

    def protect(self, place: Place, quote: str) -> None:
        """Keep words of a part readable."""
        name = self.view[place.message].id
        number, part = self._original_parts(place.message)[place.part]
        start = words(part).find(quote)
        if start >= 0:
            self.protected.setdefault(name, []).append(Cite(name, number, start, start + len(quote)))

    def folded(self, text: str, protected: Sequence[Span]) -> tuple[str, list[Span]]:
        """Return a text without colours and repeated lines, and where the protected spans are in it."""
        key = text, tuple(protected)
        if key not in self.folds:
            self.folds[key] = folded(text, protected)
        return self.folds[key]

    def excerpt_source(self, text: str, kind: TextKind = TextKind.TOOL) -> ExcerptSource:
        """Return a text to excerpt; of the agent's arguments, as much as there is room for."""
        found = self.excerpt_sources.get((text, kind))
        if found is None:
            about = self.about if kind is TextKind.TOOL else self.names
            found = ExcerptSource(
                text,
                about,
                fill=kind is TextKind.ARGUMENT,
                is_guide=kind is TextKind.GUIDE,
                is_prose=kind is TextKind.PROSE,
                is_outlined=True,
            )
            self.excerpt_sources[text, kind] = found
        return found
