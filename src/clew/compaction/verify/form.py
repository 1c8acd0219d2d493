"""Check *form*: the rendered digest, parsed back, says what was meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.compaction.plan.digest import ORDER
from clew.compaction.plan.render import TAG, Shown, ShownClaim, parse_digest, render_digest
from clew.compaction.plan.spans import spans
from clew.compaction.verify.case import Case, gist
from clew.compaction.verify.report import Finding, Level
from clew.message import Cite, Trust

_CHECK = "form"


def check_form(case: Case) -> Iterator[Finding]:
    """Find digests that do not parse back to what they are."""
    names = Counter(look.claim.id for look in case.every_look())
    for name, count in names.items():
        if count > 1 or not name:
            yield Finding(_CHECK, Level.REFUSE, name, f"{count} claims have the id {name!r}")
    for digest in case.plan.digests:
        if not _reads_back(digest, case.rendered[digest.id], case.read_back[digest.id]):
            yield from _culprits(case, digest)


def _reads_back(digest: Digest, text: str, shown: Shown | None) -> bool:
    """Whether a rendered digest parses back to the digest, with its fence intact."""
    return (
        shown is not None
        and text.endswith(f"</{TAG}>")
        and text.count(f"</{TAG}>") == 1
        and _pins(shown) == [(pin.quote, pin.source.message, pin.trust) for pin in digest.pins]
        and len(shown.claims) == len(digest.claims)
        and all(map(_is_meant, shown.claims, sorted(digest.claims, key=_place)))
        and (shown.id, shown.level, shown.covers) == (digest.id, digest.level, spans(digest.covers))
    )


def _pins(shown: Shown) -> list[tuple[str, str, Trust]]:
    return [(pin.quote, pin.source.message, pin.trust) for pin in shown.pins]


def _place(claim: Claim) -> int:
    return ORDER[claim.kind]


def _is_meant(shown: ShownClaim, claim: Claim) -> bool:
    """Whether a parsed claim is this claim."""
    return (
        shown.text == claim.text
        and shown.kind is claim.kind
        and shown.untrusted == (claim.trust <= Trust.SEMI_TRUSTED)
        and shown.turns == tuple(dict.fromkeys([cite.message for cite in claim.sources]))
    )


def _culprits(case: Case, digest: Digest) -> Iterator[Finding]:
    """Find the claims that do not parse back; if there are none, the digest itself is at fault."""
    bad = [claim for claim in digest.claims if not (claim.sources and _reads_alone(claim))]
    for claim in bad:
        # Open items must not be dropped, so here the whole digest is refused.
        is_loop = claim.kind is ClaimKind.OPEN and case.is_vouched(gist(claim))
        level = Level.REFUSE if is_loop else Level.DROP
        yield Finding(_CHECK, level, claim.id, "the claim does not read as meant", _odd(claim.sources))
    if not bad:
        yield Finding(_CHECK, Level.REFUSE, digest.id, "the digest does not read as meant")


def _reads_alone(claim: Claim) -> bool:
    alone = Digest("d1", 0, (), "", (claim,))
    text = render_digest(alone)
    return _reads_back(alone, text, parse_digest(text))


def _odd(sources: tuple[Cite, ...]) -> str:
    return f"it cites {', '.join(cite.message for cite in sources) or 'nothing'}"
