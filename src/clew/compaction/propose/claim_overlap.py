"""Which claims say what others say already: a digest says nothing twice.

Claims are compared by the message that they cite first ("turn"): a quote is superfluous if another text from
the same message contains it. ``place`` sorts claims in the order of the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from posixpath import commonprefix

from clew.compaction.plan import Claim


def by_turn(claims: Iterable[Claim]) -> dict[str, list[str]]:
    """Return the texts of claims by the turn that they cite first."""
    said: dict[str, list[str]] = {}
    for claim in claims:
        said.setdefault(claim.sources[0].message, []).append(claim.text)
    return said


def is_said(claim: Claim, said: Mapping[str, Sequence[str]]) -> bool:
    """Whether a claim is a quote that another text from the same turn contains."""
    return claim.verbatim and is_quoted(claim, said)


def is_quoted(claim: Claim, said: Mapping[str, Sequence[str]]) -> bool:
    """Whether another claim from the same turn contains what this one quotes."""
    others = said.get(claim.sources[0].message)
    return others is not None and any(claim.text in other for other in others)


def without_repeats(all_claims: Iterable[Claim], above: Iterable[Claim]) -> list[Claim]:
    """Return quotes of people, oldest first, without duplicates and without what is quoted above anyway."""
    quoted = by_turn(above)
    latest = {claim.text: claim for claim in all_claims}
    claims = []
    for claim in latest.values():
        text = claim.text
        for other in quoted.get(claim.sources[0].message, ()):
            text = "" if text in other else _unsaid(text, other)
        if text:
            claims.append(claim if text == claim.text else claim._replace(text=text))
    return claims


def _unsaid(text: str, said: str) -> str:
    """Return a text without the whole lines at its start that another text quotes."""
    shared = commonprefix((text, said))
    start = text.rfind("\n", 0, len(shared)) + 1
    return text[start:].strip() if start else text


def place(claim: Claim) -> tuple[int, int]:
    """Return where in the session a claim comes from, to sort by."""
    cite = claim.sources[0]
    return cite.number, cite.start
