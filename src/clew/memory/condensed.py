"""Read from a compaction event what it did: the digest of its own span, and the messages it shortened.

A digest that absorbs earlier ones covers everything since the beginning. What a compaction condensed
*itself* is returned as a digest of level 0: the messages it dropped from the view, and the lines about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from clew.compaction.plan import Claim, Digest
from clew.compaction.plan.codec import digest_from_json
from clew.compaction.plan.digest import expand_spans, spans
from clew.errors import NotFound, StoreDamaged
from clew.log import COMPACTION
from clew.log.protocol import StoredEvent
from clew.message import Json


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


def cut_short(stored: StoredEvent) -> list[tuple[str, str]]:
    """Return the messages that a compaction shortened, each with the reason."""
    return [(str(one["ids"]), str(one["reason"])) for one in _operations(stored, "shrink")]


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
        return [one for one in body["plan"]["operations"] if one["does"] == does]
    except (KeyError, TypeError) as cause:
        raise StoreDamaged(f"event {stored.seq} is not a valid compaction event ({cause!r})") from cause
