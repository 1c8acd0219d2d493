"""Compute the due moves: pure functions of the tiers, the moment and a policy."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from clew.memory.tiers.fold import after
from clew.memory.tiers.tier import DEFAULT, Excerpt, Guest, Left, Move, Tier, TierPolicy, Tiers


class Moment(NamedTuple):
    """The current time, and the number of messages."""

    time: str
    """ISO 8601, UTC."""
    messages: int


def moves_due(tiers: Tiers, now: Moment, policy: TierPolicy = DEFAULT) -> list[Move]:
    """Return the due moves: after compactions and undos, by age, and of idle excerpts."""
    moves: list[Move] = []
    for due in (_returns, _evictions, _agings, _departures):
        moves += due(after(moves, tiers), now, policy)
    return moves


# With compactions ------------------------------------------------------------------------------------


def _returns(tiers: Tiers, now: Moment, _: TierPolicy) -> Iterator[Move]:
    """Yield what an undo brings back; an archive digest that loses a part is dissolved."""
    broken = {span.into for span in tiers.spans.values() if span.undone and span.into}
    for into, spans in tiers.archived().items():
        stay = tuple(span.digest for span in spans if not span.undone)
        if into in broken:
            # Recorded even if nothing remains, because the archive digest no longer exists.
            yield Move(
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
            yield Move(what=tuple(what), origin=tier, to=Tier.WORKING, why=why, at=now.messages)


def _evictions(tiers: Tiers, now: Moment, _: TierPolicy) -> Iterator[Move]:
    """Yield what left the window with a compaction and is not recorded yet."""
    for span in tiers.spans.values():
        if span.tier is Tier.WORKING:
            left = Left(span.seq, span.time, span.covers)
            yield _evicted([span.digest], f"{span.covers} left the window", left, now)
    cut: dict[tuple[Left, str], list[str]] = {}
    for stub in tiers.stubs.values():
        if stub.tier is Tier.WORKING:
            cut.setdefault((Left(stub.seq, stub.time), stub.why), []).append(stub.ref)
    for (left, why), refs in cut.items():
        yield _evicted(refs, why, left, now)


def _evicted(what: Sequence[str], why: str, left: Left, now: Moment) -> Move:
    return Move(what=tuple(what), origin=Tier.WORKING, to=Tier.RECALL, why=why, at=now.messages, left=left)


# With age --------------------------------------------------------------------------------------------


def _agings(tiers: Tiers, now: Moment, policy: TierPolicy) -> Iterator[Move]:
    """Yield the oldest spans of recall in groups: those beyond its size, and those beyond its age."""
    recall = [span for span in tiers.spans.values() if span.tier is Tier.RECALL and not span.undone]
    many = policy.archive_spans
    old = _before(now.time, policy.recall_days)
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
        yield Move(
            what=what, origin=Tier.RECALL, to=Tier.ARCHIVE, why=f"archived as {into}: {why}",
            at=now.messages, into=into,
        )  # fmt: skip


def _before(time: str, days: float) -> str:
    moment = datetime.fromisoformat(time.replace("Z", "+00:00")) - timedelta(days=days)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# On demand -------------------------------------------------------------------------------------------


def _departures(tiers: Tiers, now: Moment, policy: TierPolicy) -> Iterator[Move]:
    """Yield excerpts that were injected and not wanted for long."""
    for guest in tiers.guests.values():
        idle = now.messages - guest.used
        if idle >= policy.idle_messages:
            yield _leaves(guest, f"nothing asked for it in {idle} messages", now)


def moves_for(wanted: Sequence[Excerpt], staying: Collection[str], tiers: Tiers, now: Moment) -> list[Move]:
    """Return the moves of a request that shows ``wanted`` and keeps ``staying``.

    Both were selected within the token limit; any other injected excerpt leaves.
    """
    shown = {excerpt.ref for excerpt in wanted}.union(staying)
    leaving = (guest for ref, guest in tiers.guests.items() if ref not in shown)
    return [
        *(_leaves(guest, _why_out(guest, tiers), now) for guest in leaving),
        *(_comes(excerpt, tiers, now) for excerpt in wanted),
    ]


def _why_out(guest: Guest, tiers: Tiers) -> str:
    is_back = tiers.home(guest.excerpt.ref) is Tier.WORKING
    return "the window shows it whole again" if is_back else "made room for what is wanted now"


def _comes(excerpt: Excerpt, tiers: Tiers, now: Moment) -> Move:
    origin, why = tiers.of(excerpt.ref), f"wanted: {excerpt.why}"
    if excerpt.ref in tiers.guests:
        why = f"wanted again: {excerpt.why}"
    return Move(
        what=(excerpt.ref,), origin=origin, to=Tier.WORKING, why=why, at=now.messages, excerpt=excerpt
    )


def _leaves(guest: Guest, why: str, now: Moment) -> Move:
    return Move(what=(guest.excerpt.ref,), origin=Tier.WORKING, to=guest.home, why=why, at=now.messages)
