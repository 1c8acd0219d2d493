"""What must be in a digest whatever else is: rules, goal, open loops, decisions, files, failures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from clew.ladder.excerpt import excerpt
from clew.ledger.speech import said
from clew.message import Cite, Item, Origin, Part, Role, Text, ToolResult, Trust
from clew.plan import Claim, ClaimKind, Pin

USER_CHARACTERS = 1_200
"""Of what a person typed in one message, quoted whole; longer messages are quoted in excerpt."""
_ACKNOWLEDGEMENT = re.compile(
    r"\W*(?:(?:yes|yeah|yep|ok|okay|k|sure|thanks?|thank you|thx|cool|great|good|nice|perfect|awesome|lgtm"
    r"|please|continue|proceed|go|go on|go ahead|do it|keep going|next|done|hi|hello|hey)\b\W*){1,4}"
)
"""In lower case: to look for words in any case takes twice as long."""
_LONGEST_ACKNOWLEDGEMENT = 60


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
        if message.origin is not Origin.SPOKEN:
            continue
        if message.role is Role.USER:
            found += [
                _quoted(Cite(name, j), part.text, part.trust)
                for j, part in enumerate(message.parts)
                if isinstance(part, Text) and part.trust >= Trust.USER and not _is_acknowledgement(part.text)
            ]
        if message.role in _ANSWERING and any(map(_may_hold_asides, message.parts)):
            found += [
                _quoted(one.cite(0, len(one.text)), one.text, one.trust)
                for one in said(Item(name, message))
                if one.aside and not _is_acknowledgement(one.text)
            ]
    return found


_ANSWERING = (Role.USER, Role.TOOL)
"""Who sends what tools answer; a person may answer in place of one."""


def _may_hold_asides(part: Part) -> bool:
    return isinstance(part, ToolResult) and len(part.parts) > 1


def _is_acknowledgement(text: str) -> bool:
    return not text.strip() or (
        len(text) <= _LONGEST_ACKNOWLEDGEMENT and _ACKNOWLEDGEMENT.fullmatch(text.lower()) is not None
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
