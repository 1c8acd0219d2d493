"""Label texts that a harness inserted in the user's role of a plain message list: reminders, summaries, ….

The files of tools say who wrote what; a list of messages does not: its texts are recognised by their wording.
"""

from __future__ import annotations

import re
from dataclasses import replace

from clew.message import Message, Origin, Role, Text, ToolResult
from clew.transcripts.messages import relabel

_CANDIDATE = re.compile(
    r"<[A-Za-z]|\[Request interrupted|\[SYSTEM NOTIFICATION|Caveat: The messages|# AGENTS\.md"
    r"|This session is being continued|# Context from|Another language model started|Here is a summary of the"
)
"""Prefilter: every inserted text matches this; other texts cost one search."""
_SUMMARIES = (
    ("<state_snapshot>", "</state_snapshot>"),
    ("<summary>", "</summary>"),
    ("Here is a summary of the conversation to date:\n", ""),
)
"""How the summaries of Gemini CLI, of Anthropic's SDKs and of LangChain's middleware begin and end."""


def label_speakers(message: Message) -> Message:
    """Return a user message with inserted texts labelled as such; any other message unchanged."""
    if message.role is not Role.USER or message.origin is not Origin.SPOKEN:
        return message
    if not any(isinstance(part, Text) and _CANDIDATE.search(part.text) for part in message.parts):
        return message
    if _is_summary(message):
        return relabel(message, Origin.SUMMARY)
    # Imported only if the prefilter matches.
    from clew.transcripts.readers.claude_code.user_messages import wire_message
    from clew.transcripts.readers.codex import label_speakers as label_codex_texts

    labelled = label_codex_texts(message)
    if labelled.origin is Origin.SPOKEN:
        labelled = wire_message(labelled.parts)
    if labelled.origin is Origin.SPOKEN and labelled.parts == message.parts:
        return message
    if labelled.origin is Origin.INJECTED and any(isinstance(part, ToolResult) for part in message.parts):
        # Tool results followed by a reminder: a tool message without any text of the user.
        labelled = replace(labelled, role=Role.TOOL, origin=Origin.SPOKEN)
    return replace(labelled, native=message.native)


def _is_summary(message: Message) -> bool:
    if not all(isinstance(part, Text) for part in message.parts):
        return False
    text = message.text.strip()
    return any(text.startswith(start) and text.endswith(end) for start, end in _SUMMARIES)
