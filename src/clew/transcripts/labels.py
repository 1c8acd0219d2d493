"""Who really made the words: marking what stands in the user's role but is not the user's."""

from __future__ import annotations

from dataclasses import replace

from clew.message import Message, Origin, Text, Trust, trust_of
from clew.transcripts.typed import user_message


def relabelled(message: Message, origin: Origin) -> Message:
    """Return the message as made by someone else, each part with no more trust than that deserves."""
    most = trust_of(message.role, origin)
    parts = tuple(replace(part, trust=min(part.trust, most)) for part in message.parts)
    return replace(message, parts=parts, origin=origin)


def machine_text(message: Message, starts: tuple[str, ...], trust: Trust) -> Message:
    """Mark the text parts that open in one of these ways; and the message, where no other words are left."""
    parts = tuple(
        replace(part, trust=min(part.trust, trust))
        if isinstance(part, Text) and part.text.lstrip().startswith(starts)
        else part
        for part in message.parts
    )
    marked = replace(message, parts=parts)
    is_personal = user_message(parts).origin is Origin.SPOKEN
    return marked if is_personal else relabelled(marked, Origin.INJECTED)
