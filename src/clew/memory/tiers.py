"""The tier of each memory (working, recall, archive), the moves between tiers, and the events they come from.

Messages 3 to 40 leave the window with the digest ``d1`` (working to recall); after 30 days ``d1`` to ``d32``
are represented by ``a1`` (recall to archive); an excerpt of message 12 that a request needs comes back into
the window. ``clew.memory.tier_moves`` folds the events into ``Tiers`` and finds the moves that are due.

A digest that absorbs earlier ones covers everything since the beginning. What a compaction condensed
*itself* is returned as a digest of level 0: the messages it dropped from the view, and the lines about them.
If ``d2`` absorbs ``d1`` (over m1 to m40) and condenses m41 to m80, ``own_digests`` of its event yields ``d2``
over m41 to m80.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from clew.compaction.plan import Claim, Digest
from clew.compaction.plan.codec import digest_from_json, digest_to_json
from clew.compaction.plan.digest import expand_spans, spans
from clew.errors import NotFound, StoreDamaged
from clew.log import COMPACTION
from clew.log.protocol import StoredEvent
from clew.message import Json, JsonObject, message_number


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


# Compactions and undos ------------------------------------------------------------------------------


def own_digests(stored: StoredEvent) -> Iterator[Digest]:
    """Yield the digests of level 0 that a compaction made, without lines carried over from earlier ones."""
    for digest in _digests(stored):
        own = set(digest.covers)
        lines = tuple(
            claim for claim in digest.claims if not own.isdisjoint(cite.message for cite in claim.sources)
        )
        yield replace(digest, level=0, folds=(), claims=lines)


def line_of(stored: StoredEvent, name: str) -> Claim:
    """Return a line of a compaction's digest, carried over or not."""
    for digest in _digests(stored):
        for claim in digest.claims:
            if claim.id == name:
                return claim
    raise NotFound(f"there is no line {name}", "open the digest to see its lines")


def _digests(stored: StoredEvent) -> Iterator[Digest]:
    """Yield the digests with all their lines, over the messages that the compaction condensed itself."""
    for operation in _operations(stored, "condense"):
        own = [name for name in expand_spans(str(operation["ids"])) if name.startswith("m")]
        # The coverage of the whole digest grows with the session and is not needed here.
        yield digest_from_json({**operation["digest"], "covers": spans(own)})


def digest_ids(stored: StoredEvent) -> list[str]:
    """Return the ids of a compaction's digests."""
    return [str(operation["digest"]["id"]) for operation in _operations(stored, "condense")]


def shortened_messages(stored: StoredEvent) -> list[tuple[str, str]]:
    """Return the messages that a compaction shortened, each with the reason."""
    return [(str(operation["ids"]), str(operation["reason"])) for operation in _operations(stored, "shrink")]


def stale_undos(undos: Iterable[StoredEvent]) -> frozenset[int]:
    """Return the undos without effect, because an earlier one already undid their compaction.

    Two processes of an earlier version could undo one compaction twice.
    """
    done: list[tuple[int, int]] = []
    stale: set[int] = set()
    for stored in undos:
        since = undone_since(stored)
        if any(seq > since >= other for seq, other in done):
            stale.add(stored.seq)
        else:
            done.append((stored.seq, since))
    return frozenset(stale)


def undone_since(stored: StoredEvent) -> int:
    """Return the event number of the first compaction that an undo reverts."""
    seq: Json = stored.event.body.get("compaction")
    if not isinstance(seq, int):
        raise StoreDamaged(f"event {stored.seq} does not say which compaction it undoes")
    return seq


def _operations(stored: StoredEvent, does: str) -> list[dict[str, Any]]:
    body: dict[str, Any] = COMPACTION.current(stored).event.body
    try:
        return [item for item in body["plan"]["operations"] if item["does"] == does]
    except (KeyError, TypeError) as cause:
        raise StoreDamaged(f"event {stored.seq} is not a valid compaction event ({cause!r})") from cause


# Moves as events ------------------------------------------------------------------------------------


def move_to_json(move: TierMove) -> JsonObject:
    """Return the body of a move's event."""
    body: JsonObject = {
        "what": list[Json](move.what),
        "from": move.origin.value,
        "to": move.to.value,
        "why": move.why,
        "at": move.at,
    }
    if move.into:
        body["into"] = move.into
    if move.digest:
        body["digest"] = digest_to_json(move.digest)
    if move.excerpt:
        body["excerpt"] = asdict(move.excerpt)
    if move.left:
        body["left"] = move.left._asdict()
    return body


def move_from_json(stored: StoredEvent) -> TierMove:
    """Return the move in an event."""
    body: dict[str, Any] = stored.event.body
    try:
        return TierMove(
            what=tuple(str(item) for item in body["what"]),
            origin=Tier(body["from"]),
            to=Tier(body["to"]),
            why=str(body["why"]),
            at=int(body["at"]),
            into=str(body.get("into", "")),
            digest=digest_from_json(body["digest"]) if "digest" in body else None,
            excerpt=Excerpt(**body["excerpt"]) if "excerpt" in body else None,
            left=Eviction(**body["left"]) if "left" in body else None,
        )
    except (KeyError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"event {stored.seq} is not a valid tier move ({cause!r})") from cause
