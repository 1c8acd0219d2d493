"""The digest of many digests: what the archive keeps in the open of spans that aged."""

from __future__ import annotations

from collections.abc import Sequence

from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.compaction.plan.digest import checksum

LINES = 8
"""Of each digest that goes in."""
# What is still worth knowing long after: why and what, rather than what was open or came next then.
_ORDER = (
    ClaimKind.GOAL, ClaimKind.DECISION, ClaimKind.USER, ClaimKind.ERROR, ClaimKind.FACT, ClaimKind.ARTIFACT,
    ClaimKind.OPEN, ClaimKind.NEXT,
)  # fmt: skip


def archive_digest(name: str, parts: Sequence[Digest]) -> Digest:
    """Return the digest that stands for digests of level 0: the lines of each that last longest.

    Every line keeps its sources and its trust, so it leads to the turns like the line it was.
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
