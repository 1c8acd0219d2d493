"""What must be in a digest whatever else is: rules, goal, open loops, decisions, files, failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clew.compact.excerpt import excerpt
from clew.message import Cite, Item, Origin, Role, Text, Trust
from clew.plan import Claim, ClaimKind, Pin

USER_CHARACTERS = 1_200
"""Of what a person typed in one message, quoted whole; longer messages are quoted in excerpt."""


@dataclass(frozen=True, slots=True)
class Brief:
    """What the ledger says must survive."""

    pins: tuple[Pin, ...] = ()
    claims: tuple[Claim, ...] = ()
    """In the order of their importance."""


def user_words(span: Sequence[Item]) -> list[Claim]:
    """Return what people said in a span, verbatim, oldest first."""
    claims = []
    for item in span:
        if item.message.role is not Role.USER or item.message.origin is not Origin.SPOKEN:
            continue
        for j, part in enumerate(item.message.parts):
            if isinstance(part, Text) and part.trust >= Trust.USER and part.text.strip():
                claims.append(_quoted(item.id, j, part))
    return claims


def _quoted(name: str, part: int, said: Text) -> Claim:
    text = excerpt(said.text, USER_CHARACTERS)
    whole = text == said.text
    return Claim("", ClaimKind.USER, text, (Cite(name, part),), said.trust, verbatim=whole)


def numbered(claims: Sequence[Claim], digest_id: str) -> tuple[Claim, ...]:
    """Give claims their ids, in the order in which they are shown."""
    shown = sorted(claims, key=lambda claim: list(ClaimKind).index(claim.kind))
    return tuple(replace(claim, id=f"{digest_id}.{n}") for n, claim in enumerate(shown, start=1))
