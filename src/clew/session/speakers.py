"""Label texts in live requests that an agent's harness inserted in the user's role.

The transcript readers know the reminders and context that harnesses insert; the same texts are in the
requests that those harnesses send.
"""

from __future__ import annotations

import re
from dataclasses import replace

from clew.message import Message, Origin, Role, Text, ToolResult

_CANDIDATE = re.compile(
    r"<[A-Za-z]|\[Request interrupted|\[SYSTEM NOTIFICATION|Caveat: The messages|# AGENTS\.md"
    r"|This session is being continued|# Context from|Another language model started"
)
"""Prefilter: every inserted text matches this; other texts cost one search."""


def with_speakers(message: Message) -> Message:
    """Return a user message with inserted texts labelled as such; any other message unchanged."""
    if message.role is not Role.USER or message.origin is not Origin.SPOKEN:
        return message
    if not any(isinstance(part, Text) and _CANDIDATE.search(part.text) for part in message.parts):
        return message
    from clew.transcripts.readers import claude_words, codex_words  # imported only if the prefilter matches

    labelled = codex_words.with_speakers(message)
    if labelled.origin is Origin.SPOKEN:
        labelled = claude_words.wire_message(labelled.parts)
    if labelled.origin is Origin.SPOKEN and labelled.parts == message.parts:
        return message
    if labelled.origin is Origin.INJECTED and any(isinstance(part, ToolResult) for part in message.parts):
        # Tool results followed by a reminder: a tool message without any text of the user.
        labelled = replace(labelled, role=Role.TOOL, origin=Origin.SPOKEN)
    return replace(labelled, native=message.native)
