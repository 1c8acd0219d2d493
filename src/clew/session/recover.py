"""Recover a session from a list that holds a digest: message numbers, rules, and the digest's claims."""

from __future__ import annotations

from collections.abc import Sequence

from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.compaction.plan.recognise import as_told, recovered
from clew.compaction.propose.brief import Brief
from clew.ledger.ledger import Ledger
from clew.message import Item, Message, Role, Text

_CARRIED = (ClaimKind.GOAL, ClaimKind.OPEN, ClaimKind.DECISION, ClaimKind.ERROR, ClaimKind.ARTIFACT)
"""Claims that a ledger without the covered messages cannot rebuild, so the next digest carries them over."""


def numbered(messages: Sequence[Message], last: int = 0) -> tuple[list[Item], Digest | None]:
    """Give messages their ids by position; a digest keeps its own id, and the ids it covers stay reserved."""
    found = next(filter(None, map(recovered, messages)), None)
    covered = frozenset(found.covers) if found else frozenset()
    items: list[Item] = []
    waits = found
    for message in messages:
        if waits and recovered(message):
            last = max([last, *(int(name[1:]) for name in covered)])
            items.append(Item(waits.id, as_told(message)))
            waits = None
            continue
        last += 1
        while f"m{last}" in covered:  # a message before the digest that it does not cover
            last += 1
        items.append(Item(f"m{last}", as_told(message)))
    return items, found


def restore(ledger: Ledger, digest: Digest) -> None:
    """Restore rules, early user messages and values from a digest into a ledger."""
    for pin in digest.pins:
        ledger.pins.restore(pin.quote, pin.source, pin.trust)
    said = [claim for claim in digest.claims if claim.kind is ClaimKind.USER]
    said.sort(key=lambda claim: int(claim.sources[0].message[1:]))
    ledger.restore_early_words((claim.text, claim.sources[0], claim.trust) for claim in said)
    for number, claim in enumerate(digest.claims):
        told = Message(Role.ASSISTANT, (Text(claim.text, trust=claim.trust),))
        ledger.values.add(Item(claim.sources[0].message, told), number)


def carried_by(digest: Digest, ledger: Ledger) -> Brief:
    """Return the claims of a digest that a ledger without the covered messages cannot rebuild."""
    claims: Sequence[Claim] = [claim for claim in digest.claims if claim.kind in _CARRIED]
    if ledger.goal is not None:
        claims = [claim for claim in claims if claim.kind is not ClaimKind.GOAL]
    return Brief((), tuple(claims))
