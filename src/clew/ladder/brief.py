"""What must be in a digest whatever else is: rules, goal, open loops, decisions, files, failures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from clew.ladder.excerpt import excerpt
from clew.ledger.speech import said
from clew.message import Cite, Item, Origin, Role, Text, ToolResult, Trust
from clew.plan import Claim, ClaimKind, Pin

USER_CHARACTERS = 1_200
"""Of what a person typed in one message, quoted whole; longer messages are quoted in excerpt."""
_ACKNOWLEDGEMENT = re.compile(
    r"\W*(?:(?:yes|yeah|yep|ok|okay|k|sure|thanks?|thank you|thx|cool|great|good|nice|perfect|awesome|lgtm"
    r"|please|continue|proceed|go|go on|go ahead|do it|keep going|next|done|hi|hello|hey)\b\W*){1,4}",
    re.IGNORECASE,
)
_LONGEST_ACKNOWLEDGEMENT = 60


@dataclass(frozen=True, slots=True)
class Brief:
    """What the ledger says must survive."""

    pins: tuple[Pin, ...] = ()
    claims: tuple[Claim, ...] = ()
    """In the order of their importance."""


def user_words(span: Iterable[Item]) -> list[Claim]:
    """Return what people said in a span, verbatim, oldest first; not that they are glad or agree."""
    return [
        _quoted(cite, text, trust)
        for item in span
        if item.message.role in _PEOPLE and item.message.origin is Origin.SPOKEN
        for cite, text, trust in _spoken(item)
        if not _is_acknowledgement(text)
    ]


_PEOPLE = (Role.USER, Role.TOOL)
"""Who sends what people say; they may answer in place of a tool."""


def _spoken(item: Item) -> list[tuple[Cite, str, Trust]]:
    by_user = item.message.role is Role.USER
    found = []
    may_hold_asides = False
    for j, part in enumerate(item.message.parts):
        if isinstance(part, Text):
            if by_user and part.trust >= Trust.USER:
                found.append((Cite(item.id, j), part.text, part.trust))
        elif isinstance(part, ToolResult) and len(part.parts) > 1:
            may_hold_asides = True
    for one in said(item) if may_hold_asides else ():
        if one.aside:  # a person answered in place of a tool
            found.append((one.cite(0, len(one.text)), one.text, one.trust))
    return found


def _is_acknowledgement(text: str) -> bool:
    return not text.strip() or (
        len(text) <= _LONGEST_ACKNOWLEDGEMENT and _ACKNOWLEDGEMENT.fullmatch(text) is not None
    )


def _quoted(cite: Cite, spoken: str, trust: Trust) -> Claim:
    text = excerpt(spoken, USER_CHARACTERS)
    return Claim("", ClaimKind.USER, text, (cite,), trust, verbatim=text == spoken)


_ORDER = {kind: place for place, kind in enumerate(ClaimKind)}


def numbered(claims: Iterable[Claim], digest_id: str) -> tuple[Claim, ...]:
    """Give claims their ids, in the order in which they are shown."""
    shown = sorted(claims, key=lambda claim: _ORDER[claim.kind])
    return tuple(
        Claim(f"{digest_id}.{n}", one.kind, one.text, one.sources, one.trust, one.verbatim)
        for n, one in enumerate(shown, start=1)
    )
