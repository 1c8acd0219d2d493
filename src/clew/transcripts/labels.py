"""Relabel messages in the user's role that the user did not write."""

from __future__ import annotations

from dataclasses import replace

from clew.message import Message, Origin, Text, Trust, trust_of
from clew.transcripts.typed import user_message


def relabelled(message: Message, origin: Origin) -> Message:
    """Return the message with another origin, and each part with at most the trust of that origin."""
    most = trust_of(message.role, origin)
    parts = tuple(replace(part, trust=min(part.trust, most)) for part in message.parts)
    return replace(message, parts=parts, origin=origin)


def machine_text(message: Message, starts: tuple[str, ...], trust: Trust) -> Message:
    """Lower the trust of text parts with these prefixes; relabel the message if nothing else is left."""
    parts = tuple(
        replace(part, trust=min(part.trust, trust))
        if isinstance(part, Text) and part.text.lstrip().startswith(starts)
        else part
        for part in message.parts
    )
    marked = replace(message, parts=parts)
    is_personal = user_message(parts).origin is Origin.SPOKEN
    return marked if is_personal else relabelled(marked, Origin.INJECTED)
