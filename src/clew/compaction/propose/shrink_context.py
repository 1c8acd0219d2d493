"""Everything needed to shorten the parts of one view: the view, its originals, and what must stay readable.

A part of a message may be shown shorter than it is. The shorter text is always made from the original, and
some places in it must stay readable (``protected``), such as the words of a rule when no digest states it.
``ShrinkContext`` holds these, for the pruning rules (``prune.py``) and for excerpts (``shrink.py``)::

    context = ShrinkContext(view, counter, protected={"m3": [Cite("m3", 0, 120, 158)]})
    shorten(context, range(10), most_tokens=200)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from clew.compaction.propose.excerpt import ExcerptSource
from clew.compaction.propose.fold import folded
from clew.compaction.propose.lines import Span
from clew.ledger.tool_actions import CHANGING, action_of
from clew.message import (
    Cite,
    Item,
    Message,
    Part,
    Place,
    Thinking,
    ToolResult,
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


CALLS_BEFORE, CALLS_AFTER = 8, 8
"""Messages before a result in which its call is looked for, and after it in which calls use what it found.
Chosen by hand."""
OPENED = 3.0
"""Weight of a file that a search found and a later call opened, as of what the request names."""
LONGEST_SUBJECT = 1_000
"""Characters of a command that are read for names of files."""
_FILE_NAME = re.compile(r"[\w.-]+\.[A-Za-z]\w{0,9}\b")


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
    changes: list[tuple[int, str]] = field(default_factory=list, repr=False)
    """The calls that write into files, once they are looked up."""

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

    def changed_later(self, place: Place) -> bool:
        """Whether a later call writes into the file that a result shows, so that its line numbers changed."""
        answered = self.shown_part(place)
        before = self.view[max(0, place.message - CALLS_BEFORE) : place.message]
        calls = (call for item in before for call in item.message.calls)
        if not isinstance(answered, ToolResult):
            return False
        path = next((action_of(call).subject for call in calls if call.call_id == answered.call_id), "")
        name = path.strip().split("\n")[0].replace("\\", "/").rpartition("/")[2]
        return bool(name) and any(at > place.message and name in subject for at, subject in self._changes)

    @property
    def _changes(self) -> Sequence[tuple[int, str]]:
        """The calls that write into files: the index of the message, and the path or patch."""
        if not self.changes:
            self.changes.extend(
                (at, action.subject)
                for at, item in enumerate(self.view)
                for action in map(action_of, item.message.calls)
                if action.kind in CHANGING
            )
            self.changes.append((-1, ""))  # so that it is looked up once
        return self.changes

    def opened_later(self, place: Place) -> dict[str, float]:
        """Return the names of files that the calls soon after a result are about, with a weight."""
        later = self.view[place.message + 1 : place.message + 1 + CALLS_AFTER]
        subjects = (action_of(call).subject for item in later for call in item.message.calls)
        names = {name for subject in subjects for name in _FILE_NAME.findall(subject[:LONGEST_SUBJECT])}
        return dict.fromkeys(sorted(names), OPENED)

    def folded(self, text: str, protected: Sequence[Span]) -> tuple[str, list[Span]]:
        """Return a text without colours and repeated lines, and where the protected spans are in it."""
        key = text, tuple(protected)
        if key not in self.folds:
            self.folds[key] = folded(text, protected)
        return self.folds[key]

    def result_source(self, text: str, kind: TextKind, place: Place) -> ExcerptSource:
        """Return a text to excerpt as it is used later: of a search, the hits in files that were opened."""
        found = self.excerpt_source(text, kind)
        if kind is TextKind.TOOL and found.lists_hits and (opened := self.opened_later(place)):
            return ExcerptSource(text, {**self.about, **opened}, is_outlined=True)
        return found

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
