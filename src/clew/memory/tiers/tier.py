"""The tiers of a session's memory, what lies in them, and what moving between them is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from clew.compaction.plan import Digest
from clew.compaction.plan.spans import spans, unspan


class Tier(StrEnum):
    """Where a memory is."""

    WORKING = "working"
    """In the window."""
    RECALL = "recall"
    """Out of the window, one search away: turns, outputs, and the digest of each span that left."""
    ARCHIVE = "archive"
    """Cold: a digest of many digests stands for it, two steps from the turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPolicy:
    """When something moves."""

    recall_spans: int = 64
    """Spans that stay in recall, however old; beyond them the oldest age."""
    archive_spans: int = 32
    """Spans that one digest of the archive stands for."""
    recall_days: float = 30.0
    """Days after which a span ages, however few there are."""
    idle_messages: int = 24
    """Messages after which what came back leaves again, if nothing asked for it meanwhile."""


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
    """What it is wanted for."""


class Left(NamedTuple):
    """How something left the window: enough to know it without reading the compaction again."""

    seq: int
    """The compaction."""
    time: str
    """When that was."""
    covers: str = ""
    """The messages that a digest stands for; nothing for a message that was cut short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Something that goes from one tier to another, and why."""

    what: tuple[str, ...]
    """References: digests that stand for their spans (``d3``), or messages (``m12``)."""
    origin: Tier
    to: Tier
    """The same as ``origin`` for what came back and is wanted again."""
    why: str
    at: int = 0
    """How many messages there were."""
    into: str = ""
    """The digest of the archive that it goes into, or comes out of: ``a1``."""
    digest: Digest | None = None
    """That digest, where it is made."""
    excerpt: Excerpt | None = None
    """What comes back into the window, where it is a part of a message."""
    left: Left | None = None
    """How it left the window, where it leaves with a compaction."""

    def __str__(self) -> str:
        where = f"{self.origin} → {self.to}" if self.origin is not self.to else f"stays in {self.to}"
        return f"{spans(self.what)}: {where} ({self.why})"


@dataclass(frozen=True, slots=True)
class Span:
    """Messages that left the window together; the digest of level 0 stands for them."""

    digest: str
    seq: int
    """The compaction."""
    covers: str
    """Their ids, as ``plan.spans`` writes them."""
    time: str
    tier: Tier = Tier.WORKING
    """``WORKING`` until the move is on record."""
    into: str = ""
    """The digest of the archive that stands for it."""
    undone: bool = False
    """The compaction was undone; it is on its way back."""

    @property
    def messages(self) -> tuple[str, ...]:
        """Return the ids of its messages."""
        return unspan(self.covers)

    @property
    def first(self) -> int:
        """Return the number of its first message."""
        return int(self.covers[1:].partition("-")[0].partition(",")[0])

    def holds(self, number: int) -> bool:
        """Tell whether a message is among them; costs as much as there are runs."""
        for run in self.covers.split(","):
            first, _, last = run.partition("-")
            if int(first[1:]) <= number <= int((last or first)[1:]):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Stub:
    """A message that the window shows smaller; the whole of it is in recall."""

    ref: str
    seq: int
    """The compaction."""
    time: str
    why: str
    tier: Tier = Tier.WORKING
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Guest:
    """What came back into the window."""

    excerpt: Excerpt
    home: Tier
    """Where it goes when nobody wants it any more."""
    used: int
    """How many messages there were when it was last wanted."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """Where the memories of a session are. What is named nowhere here is in the window as it was said."""

    read: int = 0
    """The last event that it accounts for."""
    spans: Mapping[str, Span] = field(default_factory=lambda: MappingProxyType({}))
    """By their digests, oldest first."""
    stubs: Mapping[str, Stub] = field(default_factory=lambda: MappingProxyType({}))
    guests: Mapping[str, Guest] = field(default_factory=lambda: MappingProxyType({}))
    archives: int = 0
    """How many digests of the archive there ever were."""
    moved: int = 0
    """The last compaction whose moves are on record."""

    def archived(self) -> dict[str, list[Span]]:
        """Return what each digest of the archive stands for, oldest first."""
        found: dict[str, list[Span]] = {}
        for span in self.spans.values():
            if span.into:
                found.setdefault(span.into, []).append(span)
        return found

    def of(self, ref: str) -> Tier:
        """Return where a message or a digest of this session is."""
        return Tier.WORKING if ref in self.guests else self.home(ref)

    def home(self, ref: str) -> Tier:
        """Return where it is when it is no guest of the window; what other sessions said is in recall."""
        if "@" in ref:
            return Tier.RECALL
        if ref in self.spans:
            return self.spans[ref].tier
        span = self._holding(int(ref[1:])) if ref[:1] == "m" and ref[1:].isdecimal() else None
        if span:
            return span.tier
        return self.stubs[ref].tier if ref in self.stubs else Tier.WORKING

    def _holding(self, number: int) -> Span | None:
        """Return the span that a message left with. They follow each other as the messages do."""
        left = list(self.spans.values())
        place = bisect_right(left, number, key=lambda span: span.first)
        return left[place - 1] if place and left[place - 1].holds(number) else None
