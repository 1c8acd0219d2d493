"""The current tiers of a session, and the moves between them that are due.

In: compactions, undos and recorded moves of a session's log (``tiers_of``). Out: ``Tiers``, and the moves to
record after compactions and undos, with age, and on demand (``moves_due``, ``moves_for``). A compaction by
itself moves nothing: ``moves_due`` sees that ``m3-m40`` left the window and returns the move, which
``Memory`` records as an event; folding that event gives the new tiers. Until then what left stays
``WORKING``, so that the next process makes the moves that a crash left out.

To add a reason to move, write a generator from ``Tiers``, ``Moment`` and ``TierPolicy`` to moves, and list it
in ``moves_due``: each sees the moves of those before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.compaction.plan.digest import checksum, spans
from clew.log import COMPACTION, UNDO
from clew.log.fold import TIER
from clew.log.protocol import Ctx, Store, StoredEvent
from clew.memory.tiers import (
    DEFAULT,
    EvictedSpan,
    EvictedStub,
    Eviction,
    Excerpt,
    InjectedExcerpt,
    Tier,
    TierMove,
    TierPolicy,
    Tiers,
    move_from_json,
    own_digests,
    shortened_messages,
    stale_undos,
    undone_since,
)

# Archive digests ------------------------------------------------------------------------------------

LINES = 8
"""Lines kept of each digest (chosen by hand)."""
# Most useful in the long run first: goals and decisions before open items and next steps.
_ORDER = (
    ClaimKind.INSTRUCTION, ClaimKind.GOAL, ClaimKind.DECISION, ClaimKind.FINDING, ClaimKind.REPORT,
    ClaimKind.USER, ClaimKind.ERROR, ClaimKind.FACT, ClaimKind.ARTIFACT, ClaimKind.OPEN, ClaimKind.NEXT,
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


class Moment(NamedTuple):
    """The current time, and the number of messages."""

    time: str
    """ISO 8601, UTC."""
    messages: int


def moves_due(tiers: Tiers, now: Moment, policy: TierPolicy = DEFAULT) -> list[TierMove]:
    """Return the due moves: after compactions and undos, by age, and of idle excerpts."""
    moves: list[TierMove] = []
    for due in (_undone_moves, _eviction_moves, _archive_moves, _idle_moves):
        moves += due(apply_moves(moves, tiers), now, policy)
    return moves


# With compactions ------------------------------------------------------------------------------------


def _undone_moves(tiers: Tiers, now: Moment, _: TierPolicy) -> Iterator[TierMove]:
    """Yield what an undo brings back; an archive digest that loses a part is dissolved."""
    broken = {span.into for span in tiers.spans.values() if span.undone and span.into}
    for into, group in tiers.archived().items():
        stay = tuple(span.digest for span in group if not span.undone)
        if into in broken:
            # Recorded even if nothing remains, because the archive digest no longer exists.
            yield TierMove(
                what=stay,
                origin=Tier.ARCHIVE,
                to=Tier.RECALL,
                why=f"{into} is dissolved: a compaction it covers was undone",
                at=now.messages,
                into=into,
            )
    for tier in (Tier.ARCHIVE, Tier.RECALL):
        what = [span.digest for span in tiers.spans.values() if span.undone and span.tier is tier]
        what += [stub.ref for stub in tiers.stubs.values() if stub.undone and stub.tier is tier]
        if what:
            why = "the compaction was undone"
            yield TierMove(what=tuple(what), origin=tier, to=Tier.WORKING, why=why, at=now.messages)


def _eviction_moves(tiers: Tiers, now: Moment, _: TierPolicy) -> Iterator[TierMove]:
    """Yield what left the window with a compaction and is not recorded yet."""
    for span in tiers.spans.values():
        if span.tier is Tier.WORKING:
            eviction = Eviction(span.seq, span.time, span.covers)
            yield _eviction_move([span.digest], f"{span.covers} left the window", eviction, now)
    cut: dict[tuple[Eviction, str], list[str]] = {}
    for stub in tiers.stubs.values():
        if stub.tier is Tier.WORKING:
            cut.setdefault((Eviction(stub.seq, stub.time), stub.why), []).append(stub.ref)
    for (eviction, why), refs in cut.items():
        yield _eviction_move(refs, why, eviction, now)


def _eviction_move(what: Sequence[str], why: str, eviction: Eviction, now: Moment) -> TierMove:
    return TierMove(
        what=tuple(what), origin=Tier.WORKING, to=Tier.RECALL, why=why, at=now.messages, left=eviction
    )


# With age --------------------------------------------------------------------------------------------


def _archive_moves(tiers: Tiers, now: Moment, policy: TierPolicy) -> Iterator[TierMove]:
    """Yield the oldest spans of recall in groups: those beyond its size, and those beyond its age."""
    recall = [span for span in tiers.spans.values() if span.tier is Tier.RECALL and not span.undone]
    many = policy.archive_spans
    old = _days_before(now.time, policy.recall_days)
    for number, first in enumerate(range(0, len(recall) - many + 1, many), tiers.archives + 1):
        group = recall[first : first + many]
        if len(recall) - first - many >= policy.recall_spans:
            why = f"more than {policy.recall_spans} newer spans are in recall"
        elif group[-1].time < old:
            why = f"older than {policy.recall_days:g} days"
        else:
            return
        what = tuple(span.digest for span in group)
        into = f"a{number}"
        yield TierMove(
            what=what, origin=Tier.RECALL, to=Tier.ARCHIVE, why=f"archived as {into}: {why}",
            at=now.messages, into=into,
        )  # fmt: skip


def _days_before(time: str, days: float) -> str:
    """Return the time so many days earlier; empty, and so before any other, if no calendar has it."""
    try:
        moment = datetime.fromisoformat(time.replace("Z", "+00:00")) - timedelta(days=days)
    except OverflowError:
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# On demand -------------------------------------------------------------------------------------------


def _idle_moves(tiers: Tiers, now: Moment, policy: TierPolicy) -> Iterator[TierMove]:
    """Yield excerpts that were injected and not wanted for long."""
    for injected in tiers.injected.values():
        idle = now.messages - injected.used
        if idle >= policy.idle_messages:
            yield _take_out(injected, f"nothing asked for it in {idle} messages", now)


def moves_for(
    wanted_excerpts: Sequence[Excerpt], staying: Collection[str], tiers: Tiers, now: Moment
) -> list[TierMove]:
    """Return the moves of a request that shows ``wanted_excerpts`` and keeps ``staying``.

    Both were selected within the token limit; any other injected excerpt leaves.
    """
    shown = {excerpt.ref for excerpt in wanted_excerpts}.union(staying)
    leaving = (injected for ref, injected in tiers.injected.items() if ref not in shown)
    return [
        *(_take_out(injected, _why_out(injected, tiers), now) for injected in leaving),
        *(_bring_in(excerpt, tiers, now) for excerpt in wanted_excerpts),
    ]


def _why_out(injected: InjectedExcerpt, tiers: Tiers) -> str:
    is_back = tiers.home(injected.excerpt.ref) is Tier.WORKING
    return "the window shows it whole again" if is_back else "made room for what is wanted now"


def _bring_in(excerpt: Excerpt, tiers: Tiers, now: Moment) -> TierMove:
    origin, why = tiers.of(excerpt.ref), f"wanted: {excerpt.why}"
    if excerpt.ref in tiers.injected:
        why = f"wanted again: {excerpt.why}"
    return TierMove(
        what=(excerpt.ref,), origin=origin, to=Tier.WORKING, why=why, at=now.messages, excerpt=excerpt
    )


def _take_out(injected: InjectedExcerpt, why: str, now: Moment) -> TierMove:
    return TierMove(
        what=(injected.excerpt.ref,), origin=Tier.WORKING, to=injected.home, why=why, at=now.messages
    )
