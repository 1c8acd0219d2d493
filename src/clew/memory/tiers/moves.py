"""The moves between tiers that are due: after compactions and undos, with age, and on demand.

A compaction by itself moves nothing: ``moves_due`` sees that ``m3-m40`` left the window and returns the move,
which ``Memory`` records as an event; folding that event gives the new tiers (``events.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from clew.memory.tiers.events import apply_moves
from clew.memory.tiers.tier import (
    DEFAULT,
    Eviction,
    Excerpt,
    InjectedExcerpt,
    Tier,
    TierMove,
    TierPolicy,
    Tiers,
)


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
