"""What reaches Claude Code's model between the records: messages typed while it works, and attachments.

A message typed during a turn is queued. If the running turn takes it, it is removed from the queue and, in
versions before 2.1.2xx, recorded nowhere else. Such messages are often corrections.
"""

from __future__ import annotations

import re

from clew.message import Json, JsonObject, Message, Origin, Role, Text, Trust
from clew.providers.anthropic.codec import parse_content
from clew.transcripts.fields import mapping, objects, string
from clew.transcripts.labels import relabelled
from clew.transcripts.readers.claude_words import spoken_message
from clew.transcripts.typed import injected

_COMMAND = re.compile(r"/[a-z][\w:-]*\s*$")
_TEXT_FIELDS = ("content", "text", "stdout", "snippet", "message")


class Queue:
    """The queued messages."""

    def __init__(self) -> None:
        """Start empty."""
        self._waiting: list[str] = []

    def change(self, record: JsonObject) -> Message | None:
        """Apply one change; return the message that the model takes into its running turn, if any."""
        content = string(record, "content")
        match record.get("operation"):
            case "enqueue" if content:
                self._waiting.append(content)
            case "dequeue":  # its own record follows
                self._take(content)
            case "remove":
                taken = self._take(content)
                if taken and record.get("reason") in (None, "absorbed_mid_turn"):
                    return _typed(taken)
            case "popAll":  # returned to the input line
                self._waiting.clear()
        return None

    def _take(self, content: str | None) -> str | None:
        if content is not None and content in self._waiting:
            self._waiting.remove(content)
            return content
        return self._waiting.pop(0) if self._waiting else content


def _typed(text: str) -> Message | None:
    """Make a message of queued text; None for a command to the tool itself."""
    if _COMMAND.match(text):
        return None
    return spoken_message((Text(text.strip(), trust=Trust.USER),))


def attachment_message(attachment: JsonObject, rendered: Json) -> Message | None:
    """Return the message that an attachment shows to the model; None for bookkeeping."""
    kind = attachment.get("type")
    if kind == "queued_command":
        return _queued_command(attachment)
    if kind == "prompt_snapshot":
        prompt = parse_content(attachment.get("systemPrompt"), Trust.SYSTEM)
        return Message(Role.SYSTEM, prompt) if prompt else None
    texts = [text for block in objects(rendered) if (text := string(block, "content"))]
    text = "\n".join(texts) or _text(attachment)
    return injected(text) if text else None


def _queued_command(attachment: JsonObject) -> Message | None:
    parts = parse_content(attachment.get("prompt"), Trust.USER)
    origin = string(mapping(attachment, "origin"), "kind")
    mode = string(attachment, "commandMode")
    if not parts:
        return None
    if (origin or "human") == "human" and (mode or "prompt") == "prompt":
        return spoken_message(parts)
    return relabelled(Message(Role.USER, parts), Origin.INJECTED)


def _text(attachment: JsonObject) -> str | None:
    for key in _TEXT_FIELDS:
        if text := string(attachment, key):
            return text
    return string(mapping(attachment, "content", "file"), "content")
