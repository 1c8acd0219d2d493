"""Fold compactions, undos and moves of a session into its current tiers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from types import MappingProxyType

from clew.compaction.plan.digest import spans
from clew.log import COMPACTION, UNDO
from clew.log.fold import TIER
from clew.log.protocol import Ctx, Store, StoredEvent
from clew.memory.condensed import cut_short, own_digests, stale_undos, undone_since
from clew.memory.tiers.codec import move_from_json
from clew.memory.tiers.tier import Excerpt, Guest, Left, Move, Span, Stub, Tier, Tiers

NOTHING_LEFT = Tiers()


def tiers_of(store: Store, ctx: Ctx, known: Tiers = NOTHING_LEFT) -> Tiers:
    """Return the current tiers of a session, starting from a known state.

    A compaction whose moves are recorded is not read again: the moves contain what is needed.
    """
    moves = [move_from_json(stored) for stored in store.read(ctx, known.read, kinds=[TIER.name])]
    moved = max([known.moved, *(move.left.seq for move in moves if move.left)])
    since = max(known.read, moved)
    on_record = store.read(ctx, known.read, since, [UNDO.name, TIER.name])
    rest = store.read(ctx, since, kinds=[COMPACTION.name, UNDO.name, TIER.name])
    stale = stale_undos(store.read(ctx, kinds=[UNDO.name]))
    return fold_tiers((one for one in chain(on_record, rest) if one.seq not in stale), known)


def fold_tiers(events: Iterable[StoredEvent], tiers: Tiers = NOTHING_LEFT) -> Tiers:
    """Replay events into tiers, starting from earlier ones, which are not changed."""
    room = _Room(tiers)
    for stored in events:
        room.take(stored)
    return room.now()


def after(moves: Iterable[Move], tiers: Tiers) -> Tiers:
    """Return the tiers after these moves."""
    room = _Room(tiers)
    for move in moves:
        room.move(move)
    return room.now()


class _Room:
    """The mutable state during a replay."""

    def __init__(self, tiers: Tiers) -> None:
        self.read = tiers.read
        self.spans = dict(tiers.spans)
        self.stubs = dict(tiers.stubs)
        self.guests = dict(tiers.guests)
        self.archives = tiers.archives
        self.moved = tiers.moved

    def now(self) -> Tiers:
        return Tiers(
            self.read,
            MappingProxyType(self.spans),
            MappingProxyType(self.stubs),
            MappingProxyType(self.guests),
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
                self.spans[digest.id] = Span(digest.id, stored.seq, spans(digest.covers), time)
        for name, why in cut_short(stored):
            self._cut_short(Stub(name, stored.seq, time, f"cut short: {why}"))

    def _cut_short(self, stub: Stub) -> None:
        """Record the compaction that first shortened a message; it applies until that one is undone."""
        known = self.stubs.get(stub.ref)
        if known is None or known.undone:
            self.stubs[stub.ref] = stub

    def _undo(self, since: int) -> None:
        """Mark what comes back; forget what never left the window."""
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

    def move(self, move: Move) -> None:
        if move.digest:
            self.archives += 1
        if move.excerpt:
            self._welcome(move.excerpt, move)
            return
        if move.left:
            for name in move.what:
                self._know(name, move.left, move.why)
            self.moved = max(self.moved, move.left.seq)
        for name in move.what:
            if name in self.guests and not move.left:
                del self.guests[name]
            elif name in self.spans:
                self._move_span(name, move)
            elif name in self.stubs:
                self._move_stub(name, move)

    def _know(self, name: str, left: Left, why: str) -> None:
        """Take in what left with a compaction that was not read."""
        if left.covers and name not in self.spans:
            self.spans[name] = Span(name, left.seq, left.covers, left.time)
        elif not left.covers:
            self._cut_short(Stub(name, left.seq, left.time, why))

    def _welcome(self, excerpt: Excerpt, move: Move) -> None:
        known = self.guests.get(excerpt.ref)
        self.guests[excerpt.ref] = Guest(excerpt, known.home if known else move.origin, move.at)

    def _move_span(self, name: str, move: Move) -> None:
        if move.to is Tier.WORKING:
            del self.spans[name]
        else:
            into = move.into if move.to is Tier.ARCHIVE else ""
            self.spans[name] = replace(self.spans[name], tier=move.to, into=into)

    def _move_stub(self, name: str, move: Move) -> None:
        if move.to is Tier.WORKING:
            del self.stubs[name]
        else:
            self.stubs[name] = replace(self.stubs[name], tier=move.to)
