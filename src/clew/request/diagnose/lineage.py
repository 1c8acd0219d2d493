"""The traceSummaries diagnostic: where each active summary comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.compaction.plan import Digest
from clew.compaction.plan.spans import spans
from clew.errors import NotFound
from clew.message import JsonObject
from clew.request.diagnose.scene import Diagnosis, Made, Scene


def trace_summaries(scene: Scene, digest: str | None = None) -> Diagnosis:
    """Return the origin of each active summary: turns, folded digests, author, checks and loss."""
    found = [(made, one) for made in scene.compactions for one in made.plan.digests]
    if digest is not None:
        found = [(made, one) for made, one in found if one.id == digest]
        if not found:
            there = ", ".join(one.id for one in digests_of(scene.compactions)) or "none"
            raise NotFound(f"no active summary {digest!r}", f"active summaries: {there}")
    if not found:
        return Diagnosis("No active summary: every turn is shown verbatim.", {"summaries": []})
    lines = [line for made, one in found for line in _lineage(made, one)]
    return Diagnosis("\n".join(lines), {"summaries": [_lineage_json(made, one) for made, one in found]})


def digests_of(compactions: Sequence[Made]) -> list[Digest]:
    """Return the digests that these compactions created."""
    return [digest for made in compactions for digest in made.plan.digests]


def _lineage(made: Made, digest: Digest) -> Iterator[str]:
    plan = made.plan
    covers = spans(digest.covers)
    yield f"{digest.id} (level {digest.level}) replaces {len(digest.covers):,} turns: {covers}"
    yield f"  made {made.time} by {digest.author}, because: {plan.reason}"
    yield f"  {plan.tokens_before:,} → {plan.tokens_after:,} tokens"
    yield f"  {len(digest.claims)} claims and {len(digest.pins)} rules, from {_sources(digest)} turns"
    if digest.folds:
        yield f"  absorbed {', '.join(digest.folds)}"
    yield f"  {_checked(made)}; checksum {digest.checksum[:23]}"


def _sources(digest: Digest) -> int:
    return len({cite.message for claim in digest.claims for cite in claim.sources})


def _checked(made: Made) -> str:
    gone = sum(kept.gone for kept in made.report.kept)
    verdict = "checked and accepted" if made.report.accepted else "checked, with findings"
    return f"{verdict}; {gone:,} items dropped (recoverable by search)"


def _lineage_json(made: Made, digest: Digest) -> JsonObject:
    plan = made.plan
    return {
        "digest": digest.id,
        "level": digest.level,
        "covers": spans(digest.covers),
        "turns": len(digest.covers),
        "folds": list(digest.folds),
        "author": digest.author,
        "time": made.time,
        "trigger": plan.trigger,
        "reason": plan.reason,
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "claims": len(digest.claims),
        "rules": len(digest.pins),
        "turns_cited": _sources(digest),
        "accepted": made.report.accepted,
        "checksum": digest.checksum,
    }
