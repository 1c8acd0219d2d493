"""User messages whose parts are labelled as typed by the user or inserted by the harness."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from clew.message import Media, Message, Origin, Part, Role, Text, Trust, trust_of

MACHINE = trust_of(Role.USER, Origin.INJECTED)
"""The trust of harness text in the user's role."""


def user_message(parts: Iterable[Part]) -> Message:
    """Make a user message of labelled parts; if the user wrote none of them, its origin is the harness."""
    held = tuple(parts)
    if any(map(_is_personal, held)):
        return Message(Role.USER, held)
    lowered = (replace(part, trust=min(part.trust, MACHINE)) for part in held)
    return Message(Role.USER, tuple(lowered), Origin.INJECTED)


def typed_in(whole: str, typed: str) -> Message:
    """Make a user message of a text of which the user typed one piece; the rest is from the harness."""
    before, found, after = whole.partition(typed)
    if not found:
        return user_message([Text(typed, trust=Trust.USER)])
    pieces = ((before, MACHINE), (typed, Trust.USER), (after, MACHINE))
    return user_message(Text(text, trust=trust) for text, trust in pieces if text)


def injected(text: str, trust: Trust = MACHINE) -> Message:
    """Make a message in the user's role that the user did not write."""
    return Message(Role.USER, (Text(text, trust=trust),), Origin.INJECTED)


def typed_words(message: Message) -> str:
    """Return what the user typed, without the harness's text around it."""
    if message.role is not Role.USER or message.origin is not Origin.SPOKEN:
        return ""
    texts = (part.text for part in message.parts if isinstance(part, Text) and part.trust is Trust.USER)
    return "\n".join(texts).strip()


def _is_personal(part: Part) -> bool:
    match part:
        case Text():
            return part.trust is Trust.USER and bool(part.text.strip())
        case Media():
            return True
        case _:
            return False
