"""The events that decide the tiers: read compactions, undos and moves, fold them, build archive digests.

A digest that absorbs earlier ones covers everything since the beginning. What a compaction condensed
*itself* is returned as a digest of level 0: the messages it dropped from the view, and the lines about them.
If ``d2`` absorbs ``d1`` (over m1 to m40) and condenses m41 to m80, ``own_digests`` of its event yields ``d2``
over m41 to m80.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.compaction.plan.codec import digest_from_json, digest_to_json
from clew.compaction.plan.digest import checksum, expand_spans, spans
from clew.errors import NotFound, StoreDamaged
from clew.log import COMPACTION, UNDO
from clew.log.fold import TIER
from clew.log.protocol import Ctx, Store, StoredEvent
from clew.memory.tiers.tier import (
    EvictedSpan,
    EvictedStub,
    Eviction,
    Excerpt,
    InjectedExcerpt,
    Tier,
    TierMove,
    Tiers,
)
from clew.message import Json, JsonObject

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


# Archive digests ------------------------------------------------------------------------------------

LINES = 8
"""Lines kept of each digest (chosen by hand)."""
# Most useful in the long run first: goals and decisions before open items and next steps.
_ORDER = (
    ClaimKind.GOAL, ClaimKind.DECISION, ClaimKind.FINDING, ClaimKind.REPORT, ClaimKind.USER, ClaimKind.ERROR,
    ClaimKind.FACT, ClaimKind.ARTIFACT, ClaimKind.OPEN, ClaimKind.NEXT,
)  # fmt: skip


def archive_digest(name: str, parts: Sequence[Digest]) -> Digest:
    """Return the digest that represents digests of level 0, with the most lasting lines of each.

    Every line keeps its sources and trust, so it leads to the same turns as before.
    """
    lines = [claim for part in parts for claim in _lasting(part)]
    return Digest(
        id=name,
        level=1 + max((part.level for part in parts), default=0),
        covers=tuple(message for part in parts for message in part.covers),
        checksum=checksum((), "\n".join(part.checksum for part in parts)),
        claims=tuple(claim._replace(id=f"{name}.{n}") for n, claim in enumerate(lines, start=1)),
        folds=tuple(part.id for part in parts),
    )


def _lasting(part: Digest) -> list[Claim]:
    """Return the lines to keep, in their own order."""
    ranked = sorted(part.claims, key=lambda claim: _ORDER.index(claim.kind))[:LINES]
    kept = {claim.id for claim in ranked}
    return [claim for claim in part.claims if claim.id in kept]


# The current tiers ----------------------------------------------------------------------------------

NOTHING_LEFT = Tiers()


def tiers_of(store: Store, ctx: Ctx, known_tiers: Tiers = NOTHING_LEFT) -> Tiers:
    """Return the current tiers of a session, starting from a known state.

    A compaction whose moves are recorded is not read again: the moves contain what is needed.
    """
    moves = [move_from_json(stored) for stored in store.read(ctx, known_tiers.read, kinds=[TIER.name])]
    moved = max([known_tiers.moved, *(move.left.seq for move in moves if move.left)])
    since = max(known_tiers.read, moved)
    on_record = store.read(ctx, known_tiers.read, since, [UNDO.name, TIER.name])
    rest = store.read(ctx, since, kinds=[COMPACTION.name, UNDO.name, TIER.name])
    stale = stale_undos(store.read(ctx, kinds=[UNDO.name]))
    return fold_tiers((event for event in chain(on_record, rest) if event.seq not in stale), known_tiers)


def fold_tiers(events: Iterable[StoredEvent], tiers: Tiers = NOTHING_LEFT) -> Tiers:
    """Replay events into tiers, starting from earlier ones, which are not changed."""
    state = _TierFold(tiers)
    for stored in events:
        state.take(stored)
    return state.now()


def apply_moves(moves: Iterable[TierMove], tiers: Tiers) -> Tiers:
    """Return the tiers after these moves."""
    state = _TierFold(tiers)
    for move in moves:
        state.move(move)
    return state.now()


class _TierFold:
    """The mutable state during a replay: ``take`` an event, ``move`` one move, ``now`` the result."""

    def __init__(self, tiers: Tiers) -> None:
        self.read = tiers.read
        self.spans = dict(tiers.spans)
        self.stubs = dict(tiers.stubs)
        self.injected = dict(tiers.injected)
        self.archives = tiers.archives
        self.moved = tiers.moved

    def now(self) -> Tiers:
        return Tiers(
            self.read,
            MappingProxyType(self.spans),
            MappingProxyType(self.stubs),
            MappingProxyType(self.injected),
            self.archives,
            self.moved,
        )

    def take(self, stored: StoredEvent) -> None:
        self.read = stored.seq
        kind = stored.event.kind
        if kind == COMPACTION.name:
            self._compact(stored)
        elif kind == UNDO.name:
            self._undo(undone_since(stored))
        elif kind == TIER.name:
            self.move(move_from_json(stored))

    def _compact(self, stored: StoredEvent) -> None:
        time = stored.event.time
        for digest in own_digests(stored):
            if digest.covers:
                self.spans[digest.id] = EvictedSpan(digest.id, stored.seq, spans(digest.covers), time)
        for name, why in shortened_messages(stored):
            self._add_stub(EvictedStub(name, stored.seq, time, f"cut short: {why}"))

    def _add_stub(self, stub: EvictedStub) -> None:
        """Record the compaction that first shortened a message; it applies until that one is undone."""
        known_stub = self.stubs.get(stub.ref)
        if known_stub is None or known_stub.undone:
            self.stubs[stub.ref] = stub

    def _undo(self, since: int) -> None:
        """Mark what compactions since an event took out; forget what never left the window."""
        for name, span in list(self.spans.items()):
            if span.seq >= since and span.tier is Tier.WORKING:
                del self.spans[name]
            elif span.seq >= since:
                self.spans[name] = replace(span, undone=True)
        for name, stub in list(self.stubs.items()):
            if stub.seq >= since and stub.tier is Tier.WORKING:
                del self.stubs[name]
            elif stub.seq >= since:
                self.stubs[name] = replace(stub, undone=True)

    def move(self, move: TierMove) -> None:
        """Apply one recorded move."""
        if move.digest:
            self.archives += 1
        if move.excerpt:
            self._add_excerpt(move.excerpt, move)
            return
        if move.left:
            for name in move.what:
                self._add_evicted(name, move.left, move.why)
            self.moved = max(self.moved, move.left.seq)
        for name in move.what:
            if name in self.injected and not move.left:
                del self.injected[name]
            elif name in self.spans:
                self._move_span(name, move)
            elif name in self.stubs:
                self._move_stub(name, move)

    def _add_evicted(self, name: str, eviction: Eviction, why: str) -> None:
        """Take in what left with a compaction that was not read."""
        if eviction.covers and name not in self.spans:
            self.spans[name] = EvictedSpan(name, eviction.seq, eviction.covers, eviction.time)
        elif not eviction.covers:
            self._add_stub(EvictedStub(name, eviction.seq, eviction.time, why))

    def _add_excerpt(self, excerpt: Excerpt, move: TierMove) -> None:
        known_excerpt = self.injected.get(excerpt.ref)
        self.injected[excerpt.ref] = InjectedExcerpt(
            excerpt, known_excerpt.home if known_excerpt else move.origin, move.at
        )

    def _move_span(self, name: str, move: TierMove) -> None:
        if move.to is Tier.WORKING:
            del self.spans[name]
        else:
            into = move.into if move.to is Tier.ARCHIVE else ""
            self.spans[name] = replace(self.spans[name], tier=move.to, into=into)

    def _move_stub(self, name: str, move: TierMove) -> None:
        if move.to is Tier.WORKING:
            del self.stubs[name]
        else:
            self.stubs[name] = replace(self.stubs[name], tier=move.to)
