"""What must be in a digest whatever else is: rules, goal, open loops, decisions, files, failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clew.ladder.excerpt import excerpt
from clew.ledger.speech import said
from clew.ledger.turns import is_acknowledgement
from clew.message import Cite, Item, Origin, Role, Text, ToolResult, Trust
from clew.plan import Claim, ClaimKind, Pin
from clew.plan.digest import ORDER

USER_CHARACTERS = 1_200
"""Of what a person typed in one message, quoted whole; longer messages are quoted in excerpt."""


@dataclass(frozen=True, slots=True)
class Brief:
    """What the ledger says must survive."""

    pins: tuple[Pin, ...] = ()
    claims: tuple[Claim, ...] = ()
    """In the order of their importance."""


def user_words(span: Iterable[Item]) -> list[Claim]:
    """Return what people said in a span, verbatim, oldest first; not that they are glad or agree."""
    found: list[Claim] = []
    for name, message in span:
        if message.origin is not Origin.SPOKEN or message.role not in _PEOPLE:
            continue
        by_user = message.role is Role.USER
        for j, part in enumerate(message.parts):
            if isinstance(part, Text):
                if by_user and part.trust >= Trust.USER and not is_acknowledgement(part.text):
                    found.append(_quoted(Cite(name, j), part.text, part.trust))
            elif isinstance(part, ToolResult) and len(part.parts) > 1:
                found += _asides(Item(name, message), j)
    return found


_PEOPLE = (Role.USER, Role.TOOL)
"""Who sends what people say; they may answer in place of a tool."""


def _asides(item: Item, part: int) -> Iterator[Claim]:
    """Yield what a person said in a result of a tool."""
    for one in said(item):
        if one.aside and one.part == part and not is_acknowledgement(one.text):
            yield _quoted(one.cite(0, len(one.text)), one.text, one.trust)


def _quoted(cite: Cite, spoken: str, trust: Trust) -> Claim:
    if len(spoken) <= USER_CHARACTERS:
        return Claim("", ClaimKind.USER, spoken, (cite,), trust, verbatim=True)
    return Claim("", ClaimKind.USER, excerpt(spoken, USER_CHARACTERS), (cite,), trust)


def numbered(claims: Iterable[Claim], digest_id: str) -> tuple[Claim, ...]:
    """Give claims their ids, in the order in which they are shown."""
    shown = sorted(claims, key=lambda claim: ORDER[claim.kind])
    return tuple(
        Claim(f"{digest_id}.{n}", one.kind, one.text, one.sources, one.trust, one.verbatim)
        for n, one in enumerate(shown, start=1)
    )
