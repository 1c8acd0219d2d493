"""Recognise digests in a plain message list, for callers who keep no log."""

from __future__ import annotations

import re
from dataclasses import replace

from clew.compaction.plan.digest import Claim, Digest
from clew.compaction.plan.render import TAG, Shown, parse_digest
from clew.compaction.plan.spans import unspan
from clew.message import Cite, Message, Origin, Role, Text, Trust

_ID = re.compile(r"m[1-9][0-9]{0,9}")
MOST_COVERED = 200_000
"""Messages that a digest in a list may cover; longer sessions belong in a log."""


def recovered(message: Message) -> Digest | None:
    """Return the digest that a message consists of; None for any other message.

    Text injected by a harness is never accepted: its author is unknown.
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
    """Split a message that begins with a digest and continues; some formats join neighbouring messages."""
    first = message.parts[0] if message.parts else None
    if message.role is not Role.USER or not isinstance(first, Text):
        return (message,)
    block, rest = _block(first.text)
    if not block or (not rest and len(message.parts) == 1):
        return (message,)
    more = (replace(first, text=rest, native=None), *message.parts[1:]) if rest else message.parts[1:]
    return as_told(Message(Role.USER, (Text(block, trust=first.trust),))), replace(message, parts=more)


def _block(text: str) -> tuple[str, str]:
    """Split a text that begins with a digest into the digest and the rest."""
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
    # The writer of this message has at most the user's trust, whatever labels its lines have.
    pins = tuple(
        replace(pin, id=f"p{n}", trust=Trust.USER)
        for n, pin in enumerate(shown.pins, start=1)
        if pin.trust >= Trust.USER
    )
    covers = unspan(shown.covers, MOST_COVERED)
    if not all(map(_ID.fullmatch, covers)):
        raise ValueError(f"{shown.id} covers ids that are not message ids of a list")
    return Digest(shown.id, shown.level, covers, "", claims, pins, (), shown.author)


def as_told(message: Message) -> Message:
    """Return the message; a digest is marked as machine text, because its quotes are not the user's."""
    if recovered(message) is None:
        return message
    parts = tuple(replace(part, trust=Trust.UNTRUSTED) for part in message.parts)
    return replace(message, parts=parts, origin=Origin.SUMMARY)
