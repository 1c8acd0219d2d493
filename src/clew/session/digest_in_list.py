"""Recover the state of a session from the digest of an earlier call in a caller's list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.compaction.plan import Claim, ClaimKind, Digest
from clew.compaction.plan.render import digest_of_message, mark_if_digest, split_off_digest
from clew.ledger.ledger import Ledger
from clew.message import Cite, Item, Message, Trust, words

if TYPE_CHECKING:
    from clew.compaction.ledger_claims import MandatoryContent

_CARRIED = (
    *(ClaimKind.INSTRUCTION, ClaimKind.GOAL, ClaimKind.OPEN),
    *(ClaimKind.DECISION, ClaimKind.ERROR, ClaimKind.ARTIFACT),
)
"""Claims that a ledger without the covered messages cannot rebuild, so the next digest carries them over."""


def assign_ids(
    messages: Sequence[Message], names: Sequence[str] = (), last: int = 0
) -> tuple[list[Item], Digest | None]:
    """Give messages their ids, these names or by position; return also the digest among them.

    A digest keeps its own id, and the ids it covers stay reserved: a system prompt, the digest d1 of m2 to
    m40 and two new messages become m1, d1, m41 and m42. With a digest the position in the list says nothing,
    so ``names`` do not count.
    """
    digest = next(filter(None, map(digest_of_message, messages)), None)
    if digest is None:
        ids = names or (f"m{number}" for number in range(last + 1, last + len(messages) + 1))
        return [Item(*pair) for pair in zip(ids, messages, strict=True)], None
    covered = frozenset(digest.covers)
    items: list[Item] = []
    unplaced: Digest | None = digest  # only the first digest counts: a later one is numbered like any message
    for message in messages:
        if unplaced and digest_of_message(message):
            last = max([last, *(int(name[1:]) for name in covered)])
            items.append(Item(unplaced.id, mark_if_digest(message)))
            unplaced = None
            continue
        last += 1
        while f"m{last}" in covered:  # a message before the digest that it does not cover
            last += 1
        items.append(Item(f"m{last}", mark_if_digest(message)))
    return items, digest


def digest_in(item: Item) -> Digest | None:
    """Return the digest of an earlier call that a message of a session begins with; None if there is none.

    The message numbers in it are those of another list, so its lines cite this message instead.
    """
    digest = digest_of_message(split_off_digest(item.message)[0])
    if digest is None:
        return None
    text = words(item.message.parts[0])
    lowest = Trust.UNTRUSTED  # the label of a digest's message

    def cite(quote: str) -> Cite:
        first = quote.split("\n", 1)[0]
        start = max(text.find(first), 0)
        return Cite(item.id, 0, start, start + len(first))

    claims = tuple(claim._replace(sources=(cite(claim.text),), trust=lowest) for claim in digest.claims)
    pins = tuple(replace(pin, source=cite(pin.quote)) for pin in digest.pins)
    return replace(digest, claims=claims, pins=pins)


def restore(ledger: Ledger, digest: Digest) -> None:
    """Restore rules and early user messages from a digest into a ledger."""
    for pin in digest.pins:
        ledger.pins.restore(pin.quote, pin.source, pin.trust, pin.lead)
    claims = [claim for claim in digest.claims if claim.kind is ClaimKind.USER]
    claims.sort(key=lambda claim: int(claim.sources[0].message[1:]))
    ledger.restore_user_quotes((claim.text, claim.sources[0], claim.trust) for claim in claims)


def carried_by(digest: Digest, ledger: Ledger) -> MandatoryContent:
    """Return the claims of a digest that a ledger without the covered messages cannot rebuild."""
    from clew.compaction.ledger_claims import MandatoryContent  # for a compaction only

    claims: Sequence[Claim] = [claim for claim in digest.claims if claim.kind in _CARRIED]
    if ledger.goal is not None:
        claims = [claim for claim in claims if claim.kind is not ClaimKind.GOAL]
    return MandatoryContent((), tuple(claims))
