"""A digest known by its text, in a list that somebody kept or handed on."""

from __future__ import annotations

from dataclasses import replace

from clew.message import Cite, Message, Origin, Part, Role, Text, Trust, words
from clew.plan.digest import Claim, Digest
from clew.plan.render import TAG, Shown, parse_digest
from clew.plan.spans import unspan


def recovered(message: Message) -> Digest | None:
    """Return the digest that a message is, all and nothing but that; None for any other message."""
    if message.role is not Role.USER or len(message.parts) != 1 or not _is_digest(message.parts[0]):
        return None
    shown = parse_digest(words(message.parts[0]))
    try:
        return _digest(shown) if shown else None
    except ValueError:
        return None


def parted(message: Message) -> tuple[Message, ...]:
    """Return a message; one that begins with a digest and goes on, as two: formats may join neighbours."""
    if message.role is not Role.USER or len(message.parts) < 2 or not _is_digest(message.parts[0]):
        return (message,)
    first, *rest = message.parts
    return as_told(Message(Role.USER, (first,))), replace(message, parts=tuple(rest))


def _is_digest(part: Part) -> bool:
    text = part.text if isinstance(part, Text) else ""
    return text.startswith(f"<{TAG} ") and text.endswith(f"</{TAG}>")


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
    pins = tuple(replace(pin, id=f"p{n}") for n, pin in enumerate(shown.pins, start=1))
    return Digest(shown.id, shown.level, unspan(shown.covers), "", claims, pins, (), shown.author)


def as_told(message: Message) -> Message:
    """Return a message, a digest marked as machine text: what it quotes is not what the user says."""
    if recovered(message) is None:
        return message
    parts = tuple(replace(part, trust=Trust.UNTRUSTED) for part in message.parts)
    return replace(message, parts=parts, origin=Origin.SUMMARY)
