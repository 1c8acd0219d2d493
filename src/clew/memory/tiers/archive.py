"""Build the archive digest that represents many digests of old spans."""

from __future__ import annotations

from collections.abc import Sequence

from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.compaction.plan.digest import checksum

LINES = 8
"""Lines kept of each digest (chosen by hand)."""
# Most useful in the long run first: goals and decisions before open items and next steps.
_ORDER = (
    ClaimKind.GOAL, ClaimKind.DECISION, ClaimKind.USER, ClaimKind.ERROR, ClaimKind.FACT, ClaimKind.ARTIFACT,
    ClaimKind.OPEN, ClaimKind.NEXT,
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
