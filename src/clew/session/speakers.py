"""Who said what in a live request: reminders and context that an agent's harness puts in the user's role.

The readers of transcripts know the texts that harnesses insert; the same texts are in the requests that
those harnesses send.
"""

from __future__ import annotations

import re
from dataclasses import replace

from clew.message import Message, Origin, Role, Text, ToolResult

_CANDIDATE = re.compile(
    r"<[A-Za-z]|\[Request interrupted|\[SYSTEM NOTIFICATION|Caveat: The messages|# AGENTS\.md"
    r"|This session is being continued|# Context from|Another language model started"
)
"""What any of the inserted texts begins with or contains; anything else costs one search."""


def with_speakers(message: Message) -> Message:
    """Return a user message with what a harness inserted labelled as such; any other as it is."""
    if message.role is not Role.USER or message.origin is not Origin.SPOKEN:
        return message
    if not any(isinstance(part, Text) and _CANDIDATE.search(part.text) for part in message.parts):
        return message
    from clew.transcripts.readers import claude_words, codex_words  # only for texts that may be inserted

    labelled = codex_words.with_speakers(message)
    if labelled.origin is Origin.SPOKEN:
        labelled = claude_words.wire_message(labelled.parts)
    if labelled.origin is Origin.SPOKEN and labelled.parts == message.parts:
        return message
    if labelled.origin is Origin.INJECTED and any(isinstance(part, ToolResult) for part in message.parts):
        # Answers of tools with a reminder behind them: a tool's message, of which no word is the user's.
        labelled = replace(labelled, role=Role.TOOL, origin=Origin.SPOKEN)
    return replace(labelled, native=message.native)
