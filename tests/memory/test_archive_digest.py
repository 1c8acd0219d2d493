"""The digest of an archived span."""

from __future__ import annotations

from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.memory.tier_moves import LINES, archive_digest
from clew.message import Cite, Trust


def test_lines_of_every_kind_can_be_archived_and_goals_and_findings_come_first():
    kinds = list(ClaimKind)
    claims = tuple(
        Claim(f"d1.{n}", kind, f"a line about {kind.value}", (Cite(f"m{n}"),), Trust.USER)
        for n, kind in enumerate(kinds, start=1)
    )
    made = archive_digest("a1", [Digest("d1", 0, ("m1", "m2"), "sha256:0", claims)])
    kept = {claim.kind for claim in made.claims}
    assert len(made.claims) == LINES < len(kinds)
    assert {ClaimKind.GOAL, ClaimKind.DECISION, ClaimKind.FINDING, ClaimKind.REPORT} <= kept
    assert ClaimKind.NEXT not in kept
