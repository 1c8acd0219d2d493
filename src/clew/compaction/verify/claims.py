"""Checks *citations*, *trust*, *form* and *size* of the claims of a digest.

A claim must cite messages of its span; a claim from a web page may not be a decision; the digest as the model
reads it must parse back to the one that was meant; and no claim may be a copy of the transcript.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from clew.compaction.plan import Claim, ClaimKind, Condense, Digest, Plan
from clew.compaction.plan.digest import ORDER, spans
from clew.compaction.plan.render import TAG, ParsedClaim, ParsedDigest, parse_digest, render_digest
from clew.compaction.verify.context import ClaimCheck, Gist, VerificationContext, gist
from clew.compaction.verify.report import Finding, Level, short
from clew.message import Trust

CLAIMS_PER_SOURCE = 8
"""A digest in a summariser's own words must cite one message per this many claims (chosen by hand)..."""
MESSAGES_PER_SOURCE = 4
"""...but never more than one per this many covered messages."""
FEWEST_SOURCES = 3
"""Messages that the claims of a model must cite together, in its own words or as quotes (chosen by hand); in
a short span, one message in ``MESSAGES_PER_SOURCE``."""
LONGEST_REQUEST = 16_000
"""Characters of a request that a digest may quote: a task description is worth its room."""
STEERING = (
    ClaimKind.INSTRUCTION,
    ClaimKind.GOAL,
    ClaimKind.USER,
    ClaimKind.DECISION,
    ClaimKind.NEXT,
    ClaimKind.OPEN,
)
"""Kinds that the next assistant acts on: they may not come from tools, files or machine text."""


def check_citations(case: VerificationContext) -> Iterator[Finding]:
    """Find claims without valid sources, and digests that cite too few messages."""
    for digest in case.plan.digests:
        covered = frozenset(digest.covers)
        for check in case.claim_checks[digest.id]:
            what = _citation_problem(case, check, covered)
            if what is not None:
                yield Finding("citations", Level.DROP, check.claim.id, what)
        yield from _too_few(case, digest)


def _citation_problem(case: VerificationContext, check: ClaimCheck, covered: frozenset[str]) -> str | None:
    """Return what is wrong with the citations of a claim; None if they are in order."""
    claim = check.claim
    if not claim.text.strip():
        return "the claim is empty"
    if not claim.sources:
        return "the claim cites no source"
    if check.vouched:
        return None
    if check.missing:
        places = ", ".join(f"{cite.message}.{cite.part}" for cite in check.missing)
        return f"the claim cites {places}, which does not exist"
    outside = [cite.message for cite in claim.sources if cite.message not in covered]
    if not all(map(case.is_shown, outside)):
        return f"the claim cites {', '.join(outside)}, which the digest does not cover"
    return None


def _too_few(case: VerificationContext, digest: Digest) -> Iterator[Finding]:
    """Find a digest that is empty, or says much in its own words and cites few messages."""
    if not digest.claims:
        if any(map(case.has_words, digest.covers)):
            what = f"the digest says nothing about the {len(digest.covers):,} messages it covers"
            yield Finding("citations", Level.REFUSE, digest.id, what)
        return
    claim_checks = case.claim_checks[digest.id]
    own_words = [
        check.claim for check in claim_checks if not (check.vouched or check.quoted or _lists(check))
    ]
    cited = {cite.message for claim in own_words for cite in claim.sources}
    needed = min(len(digest.covers) // MESSAGES_PER_SOURCE, len(own_words) // CLAIMS_PER_SOURCE)
    if len(cited) < needed:
        what = f"{len(own_words)} claims in the summariser's own words cite {len(cited)} messages"
        yield Finding("citations", Level.REFUSE, digest.id, what, f"at least {needed} are required")


def few_sources(plan: Plan, own: Collection[str]) -> Iterator[Finding]:
    """Find digests in which the claims of a model (``own`` are their texts) cite too few messages.

    What code quotes beside them does not count: a model that read one message has not summarised the span.
    """
    for digest in plan.digests:
        claims = [claim for claim in digest.claims if claim.text in own]
        cited = {cite.message for claim in claims for cite in claim.sources}
        needed = min(FEWEST_SOURCES, len(digest.covers) // MESSAGES_PER_SOURCE)
        if claims and len(cited) < needed:
            what = f"the claims of the summariser cite {len(cited)} of {len(digest.covers):,} messages"
            yield Finding("citations", Level.REFUSE, digest.id, what, f"at least {needed} are required")


def _lists(check: ClaimCheck) -> bool:
    """Whether a claim only lists values that occur where it says: such a claim paraphrases nothing."""
    names = check.claim.text.partition(": ")[2].split(", ")
    return len(check.claim.sources) >= len(names) and all(
        name and any(name in place.text for place in check.cited_texts) for name in names
    )


def check_trust(case: VerificationContext) -> Iterator[Finding]:
    """Find claims labelled above their sources, and steering claims from untrusted sources."""
    for check in case.all_claim_checks():
        claim = check.claim
        if not check.sources:
            continue
        least = Trust.DEVELOPER if claim.kind is ClaimKind.INSTRUCTION else Trust.ASSISTANT
        may_not_steer = claim.kind in STEERING and check.lowest < least and not check.vouched
        if may_not_steer:  # the next assistant would act on text without authority
            what = f'"{short(claim.text)}" is given as {_AS[claim.kind]}'
            why = f"it comes from {check.lowest.label} text"
            why += ", which is data only" if check.lowest < Trust.ASSISTANT else ""
            yield Finding("trust", Level.DROP, claim.id, what, why)
        elif claim.trust > check.ceiling:
            what = f"the claim is labelled {claim.trust.label}"
            why = f"its sources allow {check.ceiling.label} at most"
            yield Finding("trust", Level.REPAIR, claim.id, what, why)


_AS = {
    ClaimKind.INSTRUCTION: "an instruction of the host",
    ClaimKind.GOAL: "the goal",
    ClaimKind.USER: "the user's words",
    ClaimKind.DECISION: "a decision",
    ClaimKind.NEXT: "the next step",
    ClaimKind.OPEN: "an open task",
}


def lower_trust(check: ClaimCheck) -> Claim:
    """Return a claim with the highest label that its sources allow."""
    claim = check.claim
    return claim._replace(trust=check.ceiling) if claim.trust > check.ceiling else claim


_CHECK = "form"


def check_form(case: VerificationContext) -> Iterator[Finding]:
    """Find digests that do not parse back to what they are."""
    names = Counter(check.claim.id for check in case.all_claim_checks())
    for name, count in names.items():
        if count > 1 or not name:
            yield Finding(_CHECK, Level.REFUSE, name, f"{count} claims have the id {name!r}")
    for digest in case.plan.digests:
        if not _reads_back(digest, case.rendered[digest.id], case.read_back[digest.id]):
            yield from _culprits(case, digest)


def _reads_back(digest: Digest, text: str, parsed: ParsedDigest | None) -> bool:
    """Whether a rendered digest parses back to the digest, with its fence intact."""
    return (
        parsed is not None
        and text.endswith(f"</{TAG}>")
        and text.count(f"</{TAG}>") == 1
        and [pin.shown for pin in parsed.pins] == [pin.shown for pin in digest.pins]
        and len(parsed.claims) == len(digest.claims)
        and all(map(_is_meant, parsed.claims, sorted(digest.claims, key=lambda claim: ORDER[claim.kind])))
        and (parsed.id, parsed.level, parsed.covers) == (digest.id, digest.level, spans(digest.covers))
    )


def _is_meant(parsed: ParsedClaim, claim: Claim) -> bool:
    """Whether a parsed claim is this claim."""
    return (
        parsed.text == claim.text
        and parsed.kind is claim.kind
        and parsed.untrusted == (claim.trust <= Trust.SEMI_TRUSTED)
        and parsed.messages == tuple(dict.fromkeys([cite.message for cite in claim.sources]))
    )


def _culprits(case: VerificationContext, digest: Digest) -> Iterator[Finding]:
    """Find the claims that do not parse back; if there are none, the digest itself is at fault."""
    bad = [claim for claim in digest.claims if not (claim.sources and _reads_alone(claim))]
    for claim in bad:
        # Open items must not be dropped, so here the whole digest is refused.
        is_loop = claim.kind is ClaimKind.OPEN and case.is_vouched(gist(claim))
        level = Level.REFUSE if is_loop else Level.DROP
        why = f"it cites {', '.join(cite.message for cite in claim.sources) or 'nothing'}"
        yield Finding(_CHECK, level, claim.id, "the claim does not read as meant", why)
    if not bad:
        yield Finding(_CHECK, Level.REFUSE, digest.id, "the digest does not read as meant")


def _reads_alone(claim: Claim) -> bool:
    digest = Digest("d1", 0, (), "", (claim,))
    text = render_digest(digest)
    return _reads_back(digest, text, parse_digest(text))


LONGEST_CLAIM = 4_000
"""Characters; a longer claim copies the transcript, unless one person wrote that much at once."""
_SPEAKER = re.compile(
    r"^[ \t>*#\[]*(user|assistant|human|tool|system)\b[\]*]*[ \t]*:", re.IGNORECASE | re.MULTILINE
)


def check_size(case: VerificationContext) -> Iterator[Finding]:
    """Find plans that do not shrink the view, digests longer than their messages, and copied transcripts."""
    before, after = case.tokens_before, case.tokens_after
    target = case.task.target_tokens
    if case.plan.operations and after >= before:
        what = f"the view would have {after:,} tokens, no fewer than the {before:,} it has"
        yield Finding("size", Level.REFUSE, "", what)
    elif after > target:
        what = f"the view would have {after:,} tokens, {after - target:,} more than the {target:,} asked for"
        yield Finding("size", Level.NOTE, "", what)
    for condense in case.condenses:
        yield from _too_long(case, condense)
    seen: set[Gist] = set()
    for check in case.all_claim_checks():
        what = "the claim is in the digest twice" if check.gist in seen else _echo(check)
        seen.add(check.gist)
        if what:
            yield Finding("size", Level.DROP, check.claim.id, what)


def _too_long(case: VerificationContext, condense: Condense) -> Iterator[Finding]:
    covered = sum(case.sizes[name] for name in condense.ids) + case.task.beside_tokens
    own = case.sizes_after[condense.digest.id]
    if own >= covered:
        what = f"the digest has {own:,} tokens, no fewer than the {covered:,} of what it replaces"
        yield Finding("size", Level.REFUSE, condense.digest.id, what)


def _echo(check: ClaimCheck) -> str:
    """Say how a claim copies the transcript; "" if it does not."""
    claim = check.claim
    if check.vouched:
        return ""
    is_request = claim.kind in (ClaimKind.GOAL, ClaimKind.NEXT) and len(claim.text) <= LONGEST_REQUEST
    of_user = (is_request and check.quoted) or (claim.verbatim and claim.kind is ClaimKind.USER)
    if len(claim.text) > LONGEST_CLAIM and not of_user:
        return f"the claim has {len(claim.text):,} characters: a copy, not a digest"
    if check.quoted:
        return ""
    speakers = {speaker.lower() for speaker in _SPEAKER.findall(claim.text)}
    return "the claim repeats the transcript, speakers and all" if len(speakers) > 1 else ""
