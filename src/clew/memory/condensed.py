"""What a compaction did to messages, read from its event: the digest of its own span, and what it cut short.

A digest that takes in earlier ones stands for everything since the beginning. What a compaction condensed
*itself* is a digest of level 0: the messages that left the view with it, and the lines that rest on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from clew.compaction.plan import Claim, Digest
from clew.compaction.plan.codec import digest_from_json
from clew.compaction.plan.spans import spans, unspan
from clew.errors import NotFound, StoreDamaged
from clew.log import COMPACTION
from clew.log.events import Stored
from clew.message import Json


def own_digests(stored: Stored) -> Iterator[Digest]:
    """Yield the digests of level 0 that a compaction made, without what it took over from earlier ones."""
    for digest in _digests(stored):
        own = set(digest.covers)
        lines = tuple(
            claim for claim in digest.claims if not own.isdisjoint(cite.message for cite in claim.sources)
        )
        yield replace(digest, level=0, folds=(), claims=lines)


def line_of(stored: Stored, name: str) -> Claim:
    """Return a line of a compaction's digest, taken over or not."""
    for digest in _digests(stored):
        for claim in digest.claims:
            if claim.id == name:
                return claim
    raise NotFound(f"there is no line {name}", "its digest shows those that there are")


def _digests(stored: Stored) -> Iterator[Digest]:
    """Yield the digests with all their lines, over the messages that the compaction condensed itself."""
    for operation in _operations(stored, "condense"):
        own = [name for name in unspan(str(operation["ids"])) if name.startswith("m")]
        # What the whole digest covers grows with the session, and is not needed here.
        yield digest_from_json({**operation["digest"], "covers": spans(own)})


def digest_ids(stored: Stored) -> list[str]:
    """Return what the digests of a compaction are called."""
    return [str(operation["digest"]["id"]) for operation in _operations(stored, "condense")]


def cut_short(stored: Stored) -> list[tuple[str, str]]:
    """Return the messages that a compaction shows smaller, each with the reason."""
    return [(str(one["ids"]), str(one["reason"])) for one in _operations(stored, "shrink")]


def stale_undos(undos: Iterable[Stored]) -> frozenset[int]:
    """Return the undos that change nothing: an earlier one took their compaction back already.

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


def undone_since(stored: Stored) -> int:
    """Return the place of the first compaction that an undo takes back."""
    seq: Json = stored.event.body.get("compaction")
    if not isinstance(seq, int):
        raise StoreDamaged(f"event {stored.seq} does not say which compaction it undoes")
    return seq


def _operations(stored: Stored, does: str) -> list[dict[str, Any]]:
    body: dict[str, Any] = COMPACTION.current(stored).event.body
    try:
        return [one for one in body["plan"]["operations"] if one["does"] == does]
    except (KeyError, TypeError) as cause:
        raise StoreDamaged(f"event {stored.seq} is no compaction that clew wrote ({cause!r})") from cause
