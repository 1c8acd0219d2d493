"""The memory tiers, what they contain, and moves between them.

Messages 3 to 40 leave the window with the digest ``d1`` (working to recall); after 30 days ``d1`` to ``d32``
are represented by ``a1`` (recall to archive); an excerpt of message 12 that a request needs comes back into
the window.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from clew.compaction.plan import Digest
from clew.compaction.plan.digest import expand_spans, spans
from clew.message import message_number


class Tier(StrEnum):
    """Where a memory is."""

    WORKING = "working"
    """In the window."""
    RECALL = "recall"
    """Out of the window, found by one search: turns, outputs, and the digest of each span that left."""
    ARCHIVE = "archive"
    """Old: represented by a digest of many digests, two steps from the turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPolicy:
    """When something moves. The defaults were chosen by hand."""

    recall_spans: int = 64
    """Spans that stay in recall whatever their age; beyond them the oldest are archived."""
    archive_spans: int = 32
    """Spans per archive digest."""
    recall_days: float = 30.0
    """Days after which a span is archived, however few there are; ``math.inf`` for never."""
    idle_messages: int = 24
    """Messages after which an injected excerpt leaves again if no request asked for it."""


DEFAULT = TierPolicy()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A range of a message's characters."""

    ref: str
    """``m12``, or ``m12@SESSION``."""
    start: int
    end: int
    tokens: int
    why: str
    """Why it was injected."""


class Eviction(NamedTuple):
    """How something left the window; avoids reading the compaction again."""

    seq: int
    """The compaction's event number."""
    time: str
    """The compaction's time."""
    covers: str = ""
    """The messages that a digest covers; empty for a message that was shortened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierMove:
    """A move from one tier to another, with its reason."""

    what: tuple[str, ...]
    """References: digests of spans (``d3``), or messages (``m12``)."""
    origin: Tier
    to: Tier
    """Equal to ``origin`` for an injected excerpt that is wanted again."""
    why: str
    at: int = 0
    """The number of messages at that time."""
    into: str = ""
    """The archive digest that it goes into or comes out of: ``a1``."""
    digest: Digest | None = None
    """That digest, when it is created."""
    excerpt: Excerpt | None = None
    """The part of a message that is injected."""
    left: Eviction | None = None
    """How it left the window, if it left with a compaction."""

    def __str__(self) -> str:
        where = f"{self.origin} → {self.to}" if self.origin is not self.to else f"stays in {self.to}"
        return f"{spans(self.what)}: {where} ({self.why})"


@dataclass(frozen=True, slots=True)
class EvictedSpan:
    """Messages that left the window together, represented by a digest of level 0."""

    digest: str
    seq: int
    """The compaction's event number."""
    covers: str
    """Their ids: ``m3-m40,m44``."""
    time: str
    tier: Tier = Tier.WORKING
    """``WORKING`` until the move is recorded."""
    into: str = ""
    """The archive digest that represents it."""
    undone: bool = False
    """The compaction was undone; the return is not recorded yet."""

    @property
    def messages(self) -> tuple[str, ...]:
        """Return the ids of its messages."""
        return expand_spans(self.covers)

    @property
    def first(self) -> int:
        """Return the number of its first message."""
        return int(self.covers[1:].partition("-")[0].partition(",")[0])

    def holds(self, number: int) -> bool:
        """Return True if it contains a message; costs as much as there are runs."""
        for run in self.covers.split(","):
            first, _, last = run.partition("-")
            if int(first[1:]) <= number <= int((last or first)[1:]):
                return True
        return False


@dataclass(frozen=True, slots=True)
class EvictedStub:
    """A message that the window shows shortened; the whole of it is in recall."""

    ref: str
    seq: int
    """The compaction's event number."""
    time: str
    why: str
    tier: Tier = Tier.WORKING
    undone: bool = False


@dataclass(frozen=True, slots=True)
class InjectedExcerpt:
    """An excerpt that was injected into the window."""

    excerpt: Excerpt
    home: Tier
    """The tier it returns to."""
    used: int
    """The number of messages when it was last wanted."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """The tier of each memory of a session. Anything not listed is in the window verbatim."""

    read: int = 0
    """The last event that it includes."""
    spans: Mapping[str, EvictedSpan] = field(default_factory=lambda: MappingProxyType({}))
    """By their digests, oldest first."""
    stubs: Mapping[str, EvictedStub] = field(default_factory=lambda: MappingProxyType({}))
    injected: Mapping[str, InjectedExcerpt] = field(default_factory=lambda: MappingProxyType({}))
    archives: int = 0
    """How many archive digests were ever created."""
    moved: int = 0
    """The last compaction whose moves are recorded."""

    def archived(self) -> dict[str, list[EvictedSpan]]:
        """Return the spans of each archive digest, oldest first."""
        result: dict[str, list[EvictedSpan]] = {}
        for span in self.spans.values():
            if span.into:
                result.setdefault(span.into, []).append(span)
        return result

    def of(self, ref: str) -> Tier:
        """Return the tier of a message or digest of this session."""
        return Tier.WORKING if ref in self.injected else self.home(ref)

    def home(self, ref: str) -> Tier:
        """Return its tier without regard to injected excerpts; other sessions' messages are in recall."""
        if "@" in ref:
            return Tier.RECALL
        if ref in self.spans:
            return self.spans[ref].tier
        span = self._holding(number) if (number := message_number(ref)) else None
        if span:
            return span.tier
        return self.stubs[ref].tier if ref in self.stubs else Tier.WORKING

    def _holding(self, number: int) -> EvictedSpan | None:
        """Return the span that contains a message. Spans are in the order of their messages."""
        spans = list(self.spans.values())
        place = bisect_right(spans, number, key=lambda span: span.first)
        return spans[place - 1] if place and spans[place - 1].holds(number) else None
