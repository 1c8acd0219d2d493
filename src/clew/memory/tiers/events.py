"""Read compaction and undo events, encode tier moves as events, and build archive digests.

A digest that absorbs earlier ones covers everything since the beginning. What a compaction condensed
*itself* is returned as a digest of level 0: the messages it dropped from the view, and the lines about them.
If ``d2`` absorbs ``d1`` (over m1 to m40) and condenses m41 to m80, ``own_digests`` of its event yields ``d2``
over m41 to m80.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.compaction.plan.codec import digest_from_json, digest_to_json
from clew.compaction.plan.digest import checksum, expand_spans, spans
from clew.errors import NotFound, StoreDamaged
from clew.log import COMPACTION
from clew.log.protocol import StoredEvent
from clew.memory.tiers.tier import Eviction, Excerpt, Tier, TierMove
from clew.message import Json, JsonObject


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
