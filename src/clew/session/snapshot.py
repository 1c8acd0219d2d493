"""Snapshots of what a session derived from its log, so that opening it need not replay every event.

A store may keep one ``Snapshot`` per session: the state after the event at ``head``. ``Replay`` starts from
it and applies the events that follow. A snapshot that does not match the log, or is of another version of
clew, is ignored: everything in it can be derived again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from clew.budget import State
from clew.compaction.plan.plan import gc_paused
from clew.errors import InputError, StoreDamaged, StoreError
from clew.ledger.ledger import Ledger
from clew.log import LogProblem, View, view_from_json, view_to_json
from clew.log.protocol import Ctx, Head, Snapshots, Store
from clew.message import JsonObject
from clew.session.found_rules import RecordedRules

SAVE_EVERY = 100
"""Events between two snapshots of the derived state in a short session. Replaying an event costs about 0.7 ms
of CPU, a snapshot of 1,000 messages 18 ms: opening stays below 0.1 s, and an append costs 0.2 ms more."""
SAVE_SHARE = 32
"""In a longer session there is a snapshot after each 1/32 of its events, because snapshots grow with it."""
SAVE_EVERY_AT_MOST = 5_000
"""Events between two snapshots in a very long session: about 3.5 s of replaying."""
SAVED_VERSION = 2
"""The version of the snapshot's format; a snapshot of another version is ignored."""


class Snapshot(NamedTuple):
    """The derived state of a session after the event at ``head``; ``Replay`` describes the fields."""

    head: Head
    view: View
    ledger: Ledger
    state: State
    compactions: int
    recorded: RecordedRules
    problems: list[LogProblem]
    about: JsonObject
    digests: list[str]


def save_interval(seq: int) -> int:
    """Return the events between two snapshots near this position: a power of two times ``SAVE_EVERY``."""
    interval = SAVE_EVERY
    while 2 * interval <= seq // SAVE_SHARE:  # in steps, so that processes at different positions agree
        interval *= 2
    return min(interval, SAVE_EVERY_AT_MOST)


@gc_paused
def load_snapshot(store: Store, ctx: Ctx) -> Snapshot | None:
    """Return the last snapshot of a session; None if the store has none that matches the log."""
    kept = store.load_snapshot(ctx) if isinstance(store, Snapshots) else None
    if kept is None:
        return None
    head, body = kept
    last = next(store.read(ctx, head.seq - 1, head.seq), None)
    if last is None or last.hash != head.hash or body.get("version") != SAVED_VERSION:
        return None
    saved: dict[str, Any] = body
    try:
        return Snapshot(
            head,
            view_from_json(saved["view"]),
            Ledger.from_json(saved["ledger"]),
            State.from_json(saved["state"]),
            int(saved["compactions"]),
            RecordedRules.from_json(saved.get("recorded")),
            [LogProblem(*item) for item in saved.get("problems", ())],
            dict(saved.get("about", {})),
            [str(name) for name in saved.get("digests", ())],
        )
    except (StoreDamaged, InputError, KeyError, TypeError, ValueError):
        return None


def save_snapshot(store: Store, ctx: Ctx, snapshot: Snapshot) -> None:
    """Save a snapshot, if the store supports it; an error of the store is ignored."""
    if not isinstance(store, Snapshots):
        return
    body: JsonObject = {
        "version": SAVED_VERSION,
        "view": view_to_json(snapshot.view),
        "ledger": snapshot.ledger.to_json(),
        "state": snapshot.state.to_json(),
        "compactions": snapshot.compactions,
        "about": snapshot.about,
        "digests": [*snapshot.digests],
        "recorded": snapshot.recorded.to_json(),
        "problems": [[*problem] for problem in snapshot.problems],
    }
    with suppress(StoreError):  # a snapshot only saves time
        store.save_snapshot(ctx, snapshot.head, body)
