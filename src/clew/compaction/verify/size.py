"""Check *size*: the view gets smaller, and every digest is shorter than what it replaces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.compaction.plan import ClaimKind, Condense
from clew.compaction.verify.case import Case, Gist, Look
from clew.compaction.verify.report import Finding, Level

LONGEST_CLAIM = 4_000
"""Characters; a longer claim copies the transcript, unless one person wrote that much at once."""
_SPEAKER = re.compile(
    r"^[ \t>*#\[]*(user|assistant|human|tool|system)\b[\]*]*[ \t]*:", re.IGNORECASE | re.MULTILINE
)


def check_size(case: Case) -> Iterator[Finding]:
    """Find plans that do not shrink the view, digests longer than their messages, and copied transcripts."""
    before, after = case.tokens_before, case.tokens_after
    target = case.evidence.target_tokens
    if case.plan.operations and after >= before:
        what = f"the view would have {after:,} tokens, no fewer than the {before:,} it has"
        yield Finding("size", Level.REFUSE, "", what)
    elif after > target:
        what = f"the view would have {after:,} tokens, {after - target:,} more than the {target:,} asked for"
        yield Finding("size", Level.NOTE, "", what)
    for condense in case.condenses:
        yield from _too_long(case, condense)
    seen: set[Gist] = set()
    for look in case.every_look():
        what = "the claim is in the digest twice" if look.gist in seen else _echo(look)
        seen.add(look.gist)
        if what:
            yield Finding("size", Level.DROP, look.claim.id, what)


def _too_long(case: Case, condense: Condense) -> Iterator[Finding]:
    covered = sum(case.sizes[name] for name in condense.ids)
    own = case.sizes_after[condense.digest.id]
    if own >= covered:
        what = f"the digest has {own:,} tokens, no fewer than the {covered:,} of what it replaces"
        yield Finding("size", Level.REFUSE, condense.digest.id, what)


def _echo(look: Look) -> str:
    """Say how a claim copies the transcript; "" if it does not."""
    claim = look.claim
    if look.vouched:
        return ""
    if len(claim.text) > LONGEST_CLAIM and not (claim.verbatim and claim.kind is ClaimKind.USER):
        return f"the claim has {len(claim.text):,} characters: a copy, not a digest"
    if look.quoted:
        return ""
    speakers = {found.lower() for found in _SPEAKER.findall(claim.text)}
    return "the claim repeats the transcript, speakers and all" if len(speakers) > 1 else ""
