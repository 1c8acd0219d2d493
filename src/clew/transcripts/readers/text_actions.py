"""Agents without native tools: they write a command as text, and its output comes in the user's role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from clew.message import Message, Part, Role, Text, ToolCall, ToolResult, Trust

_OPENING = re.compile(r"```(?:bash|mswea_bash_command)[^\S\n]*\n\s*")
_CLOSING = "\n```"


def with_action(message: Message, call_id: str) -> Message:
    """Read the command of a reply as a call of ``bash``.

    A reply with no command or with several has no call: the agent refused it. The call comes last, because
    Anthropic accepts no text after one.
    """
    text = message.text
    blocks = list(islice(_blocks(text), 2))
    if len(blocks) != 1:
        return message
    ((start, command, end),) = blocks
    before, after = text[:start].strip(), text[end:].strip()
    said = tuple(Text(words, trust=Trust.ASSISTANT) for words in (before, after) if words)
    call = ToolCall(call_id, "bash", {"command": command}, trust=Trust.ASSISTANT)
    thinking = (part for part in message.parts if not isinstance(part, Text))
    return Message(Role.ASSISTANT, (*thinking, *said, call))


def _blocks(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield the start of each command block, the command, and the end of the block."""
    at = 0
    while opening := _OPENING.search(text, at):
        end = text.find(_CLOSING, max(at, opening.end() - 1))
        if end < 0:
            return
        at = end + len(_CLOSING)
        yield opening.start(), text[opening.end() : end].strip(), at


def result_of(message: Message, call_id: str) -> Message:
    """Read an observation in the user's role as the result of a call."""
    parts: tuple[Part, ...] = tuple(replace(part, trust=Trust.UNTRUSTED) for part in message.parts)
    return Message(Role.TOOL, (ToolResult(call_id, parts, name="bash", trust=Trust.UNTRUSTED),))
