"""A digest known by its text, in a list that somebody kept or handed on."""

from __future__ import annotations

import re
from dataclasses import replace

from clew.message import Cite, Message, Origin, Role, Text, Trust
from clew.plan.digest import Claim, Digest
from clew.plan.render import TAG, Shown, parse_digest
from clew.plan.spans import unspan

_ID = re.compile(r"m[1-9][0-9]{0,9}")
MOST_COVERED = 200_000
"""Messages that a digest in a list may stand for; a longer session is in a log."""


def recovered(message: Message) -> Digest | None:
    """Return the digest that a message is, all and nothing but that; None for any other message.

    What a harness injected is never taken for one: anybody may have put it there.
    """
    part = message.parts[0] if len(message.parts) == 1 else None
    if message.role is not Role.USER or message.origin is Origin.INJECTED or not isinstance(part, Text):
        return None
    block, rest = _block(part.text)
    shown = parse_digest(block) if block and not rest else None
    try:
        return _digest(shown) if shown else None
    except ValueError:
        return None


def parted(message: Message) -> tuple[Message, ...]:
    """Return a message; one that begins with a digest and goes on, as two: formats may join neighbours."""
    first = message.parts[0] if message.parts else None
    if message.role is not Role.USER or not isinstance(first, Text):
        return (message,)
    block, rest = _block(first.text)
    if not block or (not rest and len(message.parts) == 1):
        return (message,)
    more = (replace(first, text=rest, native=None), *message.parts[1:]) if rest else message.parts[1:]
    return as_told(Message(Role.USER, (Text(block, trust=first.trust),))), replace(message, parts=more)


def _block(text: str) -> tuple[str, str]:
    """Return the digest that a text begins with, and what comes after it."""
    stripped = text.strip()
    end = stripped.find(f"\n</{TAG}>") if stripped.startswith(f"<{TAG} ") else -1
    if end < 0:
        return "", text
    cut = end + len(f"\n</{TAG}>")
    return stripped[:cut], stripped[cut:].strip()


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
        if claim.turns
    )
    # Whoever can write this message has the user's trust and no more, whatever its lines say.
    pins = tuple(
        replace(pin, id=f"p{n}", trust=Trust.USER)
        for n, pin in enumerate(shown.pins, start=1)
        if pin.trust >= Trust.USER
    )
    covers = unspan(shown.covers, MOST_COVERED)
    if not all(map(_ID.fullmatch, covers)):
        raise ValueError(f"{shown.id} covers what no list of ours calls a message")
    return Digest(shown.id, shown.level, covers, "", claims, pins, (), shown.author)


def as_told(message: Message) -> Message:
    """Return a message, a digest marked as machine text: what it quotes is not what the user says."""
    if recovered(message) is None:
        return message
    parts = tuple(replace(part, trust=Trust.UNTRUSTED) for part in message.parts)
    return replace(message, parts=parts, origin=Origin.SUMMARY)
