"""Reading a session back from a list: the numbers of its messages, and what its digest tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from clew.ladder.brief import Brief
from clew.ledger.ledger import Ledger
from clew.message import Cite, Item, Message, Origin, Role, Text, Trust
from clew.plan import Claim, ClaimKind, Digest
from clew.plan.render import TAG, Shown, parse_digest
from clew.plan.spans import unspan

_CARRIED = (ClaimKind.GOAL, ClaimKind.OPEN, ClaimKind.DECISION, ClaimKind.ERROR, ClaimKind.ARTIFACT)
"""What a ledger that did not see the covered messages cannot know, and a digest must go on telling."""


def numbered(messages: Iterable[Message], last: int = 0) -> tuple[list[Item], Digest | None]:
    """Give messages their ids by place; a digest keeps its own and those of the messages it covers."""
    items: list[Item] = []
    found: Digest | None = None
    for message in messages:
        digest = None if found else recovered(message)
        if digest:
            found = digest
            last = max([last, *(int(name[1:]) for name in digest.covers if name[1:].isdecimal())])
            items.append(Item(digest.id, _as_summary(message)))
        else:
            last += 1
            items.append(Item(f"m{last}", message))
    return items, found


def recovered(message: Message) -> Digest | None:
    """Return the digest that a message is, all and nothing but that; None for any other message."""
    if message.role is not Role.USER or len(message.parts) != 1:
        return None
    part = message.parts[0]
    if (
        not isinstance(part, Text)
        or not part.text.startswith(f"<{TAG} ")
        or not part.text.endswith(f"</{TAG}>")
    ):
        return None
    shown = parse_digest(part.text)
    try:
        return _digest(shown) if shown else None
    except ValueError:
        return None


def _digest(shown: Shown) -> Digest:
    claims = tuple(
        Claim(
            f"{shown.id}.{n}",
            claim.kind,
            claim.text,
            tuple(Cite(turn) for turn in claim.turns),
            Trust.UNTRUSTED if claim.untrusted else Trust.ASSISTANT,
        )
        for n, claim in enumerate(shown.claims, start=1)
    )
    pins = tuple(replace(pin, id=f"p{n}") for n, pin in enumerate(shown.pins, start=1))
    return Digest(shown.id, shown.level, unspan(shown.covers), "", claims, pins, (), shown.author)


def as_told(message: Message) -> Message:
    """Return a message with a digest marked as machine text: quotes in it are not what the user says."""
    return _as_summary(message) if recovered(message) else message


def _as_summary(message: Message) -> Message:
    parts = tuple(replace(part, trust=Trust.UNTRUSTED) for part in message.parts)
    return replace(message, parts=parts, origin=Origin.SUMMARY)


def restore(ledger: Ledger, digest: Digest) -> None:
    """Let a ledger know what a digest tells: the rules, so that later words can lift them; the values."""
    for pin in digest.pins:
        ledger.pins.restore(pin.quote, pin.source, pin.trust)
    for number, claim in enumerate(digest.claims):
        told = Message(Role.ASSISTANT, (Text(claim.text, trust=claim.trust),))
        ledger.values.add(Item(claim.sources[0].message, told), number)


def carried_by(digest: Digest, ledger: Ledger) -> Brief:
    """Return what a digest tells that a ledger without the covered messages cannot."""
    claims: Sequence[Claim] = [claim for claim in digest.claims if claim.kind in _CARRIED]
    if ledger.goal is not None:
        claims = [claim for claim in claims if claim.kind is not ClaimKind.GOAL]
    return Brief((), tuple(claims))
