"""Fold events into a view, and load the messages that a view shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from clew.errors import InputError, StoreDamaged
from clew.log.events import Ctx, Stored
from clew.log.kinds import KINDS, Kind
from clew.log.protocol import Store
from clew.log.view import LogProblem, Ref, View
from clew.message import Message

READ_THROUGH = 16
"""The largest gap between references that is read through instead of starting another query; chosen by hand.
"""
RUN = 1_000
"""How many references are collected before reading: bounds memory, does not change the result."""


@dataclass(frozen=True, slots=True)
class Visible:
    """A message of a view, with its source event."""

    ref: Ref
    id: str
    """The id of its event."""
    own_name: str | None
    """Its own name, ``d3`` for a digest; None for a message that is named by its number."""
    message: Message


def names(view: View, seen: Iterable[Visible]) -> Iterator[tuple[str, Visible]]:
    """Yield the messages of a view with their names in the session: ``m12``, ``d3``."""
    for visible in seen:
        yield visible.own_name or f"m{view.number(visible.ref.seq)}", visible


def fold(events: Iterable[Stored], view: View | None = None, kinds: Mapping[str, Kind] = KINDS) -> View:
    """Replay events into a view, or continue an earlier one. Linear in the number of events.

    An event that does not fit the view, such as a second undo of one compaction, is skipped and listed in
    ``View.problems``; the log still opens.
    """
    view = view or View()
    seq = view.seq
    for stored in events:
        if stored.seq <= seq:
            raise InputError(f"event {stored.seq} is already in this view, which has reached {seq}")
        seq = stored.seq
        kind = kinds.get(stored.event.kind)
        view = apply(view, kind.current(stored), kind) if kind else _skip(view, stored.event.kind)
    return replace(view, seq=seq)


def apply(view: View, stored: Stored, kind: Kind) -> View:
    """Return the view after one event of a known kind; an event that does not fit is listed as a problem."""
    try:
        return kind.fold(view, stored)
    except StoreDamaged as cause:
        problem = LogProblem(stored.seq, stored.event.kind, cause.detail)
        return replace(view, problems=view.problems.add(problem))


def _skip(view: View, kind: str) -> View:
    skipped = {**view.skipped, kind: view.skipped.get(kind, 0) + 1}
    return replace(view, skipped=MappingProxyType(skipped))


def load(store: Store, ctx: Ctx, refs: Iterable[Ref], kinds: Mapping[str, Kind] = KINDS) -> Iterator[Visible]:
    """Yield the messages that references point at, in their order."""
    for run in _runs(refs):
        events = store.read(ctx, run[0].seq - 1, run[-1].seq)
        stored = next(events, None)
        for ref in run:
            while stored and stored.seq < ref.seq:
                stored = next(events, None)
            if stored is None or stored.seq != ref.seq or stored.event.kind not in kinds:
                raise StoreDamaged(f"the view shows event {ref.seq}, which holds no message")
            kind = kinds[stored.event.kind]
            current = kind.current(stored)
            message = kind.messages(current.event.body)[ref.nth]
            yield Visible(ref, stored.event.id, kind.name_of(current, ref.nth), message)


def _runs(refs: Iterable[Ref]) -> Iterator[list[Ref]]:
    """Split references into runs that one ascending read covers."""
    run: list[Ref] = []
    for ref in refs:
        if run and (len(run) == RUN or not 0 <= ref.seq - run[-1].seq <= READ_THROUGH):
            yield run
            run = []
        run.append(ref)
    if run:
        yield run
