"""Checks *citations* and *trust*: every claim has sources, and none is trusted more than they are."""

from __future__ import annotations

from collections.abc import Iterator

from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.compaction.verify.case import Case, Look
from clew.compaction.verify.report import Finding, Level, short
from clew.message import Trust

CLAIMS_PER_SOURCE = 8
"""A digest in a summariser's own words must cite one message per this many claims (chosen by hand)..."""
MESSAGES_PER_SOURCE = 4
"""...but never more than one per this many covered messages."""
STEERING = (ClaimKind.GOAL, ClaimKind.USER, ClaimKind.DECISION, ClaimKind.NEXT, ClaimKind.OPEN)
"""Kinds that the next assistant acts on: they may not come from tools, files or machine text."""


def check_citations(case: Case) -> Iterator[Finding]:
    """Find claims without valid sources, and digests that cite too few messages."""
    for digest in case.plan.digests:
        covered = frozenset(digest.covers)
        for look in case.looks[digest.id]:
            what = _uncited(case, look, covered)
            if what is not None:
                yield Finding("citations", Level.DROP, look.claim.id, what)
        yield from _too_few(case, digest)


def _uncited(case: Case, look: Look, covered: frozenset[str]) -> str | None:
    claim = look.claim
    if not claim.text.strip():
        return "the claim is empty"
    if not claim.sources:
        return "the claim cites no source"
    if look.vouched:
        return None
    if look.missing:
        places = ", ".join(f"{cite.message}.{cite.part}" for cite in look.missing)
        return f"the claim cites {places}, which does not exist"
    outside = [cite.message for cite in claim.sources if cite.message not in covered]
    if not all(map(case.is_shown, outside)):
        return f"the claim cites {', '.join(outside)}, which the digest does not cover"
    return None


def _too_few(case: Case, digest: Digest) -> Iterator[Finding]:
    """Find a digest that is empty, or says much in its own words and cites few messages."""
    if not digest.claims:
        if any(map(case.has_words, digest.covers)):
            what = f"the digest says nothing about the {len(digest.covers):,} messages it covers"
            yield Finding("citations", Level.REFUSE, digest.id, what)
        return
    looks = case.looks[digest.id]
    own_words = [look.claim for look in looks if not (look.vouched or look.quoted or _lists(look))]
    cited = {cite.message for claim in own_words for cite in claim.sources}
    needed = min(len(digest.covers) // MESSAGES_PER_SOURCE, len(own_words) // CLAIMS_PER_SOURCE)
    if len(cited) < needed:
        what = f"{len(own_words)} claims in the summariser's own words cite {len(cited)} messages"
        yield Finding("citations", Level.REFUSE, digest.id, what, f"at least {needed} are required")


def _lists(look: Look) -> bool:
    """Whether a claim only lists values that occur where it says: such a claim paraphrases nothing."""
    names = look.claim.text.partition(": ")[2].split(", ")
    return len(look.claim.sources) >= len(names) and all(
        name and any(name in place.text for place in look.said) for name in names
    )


def check_trust(case: Case) -> Iterator[Finding]:
    """Find claims labelled above their sources, and steering claims from untrusted sources."""
    for look in case.every_look():
        claim = look.claim
        if not look.sources:
            continue
        if _may_not_steer(look):
            what = f'"{short(claim.text)}" is given as {_AS[claim.kind]}'
            why = f"it comes from {look.lowest.label} text, which is data only"
            yield Finding("trust", Level.DROP, claim.id, what, why)
        elif claim.trust > look.ceiling:
            what = f"the claim is labelled {claim.trust.label}"
            why = f"its sources allow {look.ceiling.label} at most"
            yield Finding("trust", Level.REPAIR, claim.id, what, why)


_AS = {
    ClaimKind.GOAL: "the goal",
    ClaimKind.USER: "the user's words",
    ClaimKind.DECISION: "a decision",
    ClaimKind.NEXT: "the next step",
    ClaimKind.OPEN: "an open task",
}


def _may_not_steer(look: Look) -> bool:
    """Whether a claim would make the next assistant act on text without authority."""
    return look.claim.kind in STEERING and look.lowest < Trust.ASSISTANT and not look.vouched


def lowered(look: Look) -> Claim:
    """Return a claim with the highest label that its sources allow."""
    claim = look.claim
    return claim._replace(trust=look.ceiling) if claim.trust > look.ceiling else claim
