"""Encode moves as bodies of ``TIER`` events, and decode them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from clew.compaction.plan.codec import digest_from_json, digest_to_json
from clew.errors import StoreDamaged
from clew.log.protocol import StoredEvent
from clew.memory.tiers.tier import Excerpt, Left, Move, Tier
from clew.message import Json, JsonObject


def move_to_json(move: Move) -> JsonObject:
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


def move_from_json(stored: StoredEvent) -> Move:
    """Return the move in an event."""
    body: dict[str, Any] = stored.event.body
    try:
        return Move(
            what=tuple(str(one) for one in body["what"]),
            origin=Tier(body["from"]),
            to=Tier(body["to"]),
            why=str(body["why"]),
            at=int(body["at"]),
            into=str(body.get("into", "")),
            digest=digest_from_json(body["digest"]) if "digest" in body else None,
            excerpt=Excerpt(**body["excerpt"]) if "excerpt" in body else None,
            left=Left(**body["left"]) if "left" in body else None,
        )
    except (KeyError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"event {stored.seq} is not a valid tier move ({cause!r})") from cause
