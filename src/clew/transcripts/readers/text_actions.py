"""Agents without tools: they write a command into their text, and read its output in the user's role."""

from __future__ import annotations

import re
from dataclasses import replace

from clew.message import Message, Part, Role, Text, ToolCall, ToolResult, Trust

_BLOCK = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)


def with_action(message: Message, call_id: str) -> Message:
    """Read the command of a reply as a call of ``bash``.

    A reply with none or with several has no call: it was refused. The call comes last, as Anthropic takes
    no text behind one.
    """
    text = message.text
    blocks = list(_BLOCK.finditer(text))
    if len(blocks) != 1:
        return message
    before, after = text[: blocks[0].start()].strip(), text[blocks[0].end() :].strip()
    said = tuple(Text(words, trust=Trust.ASSISTANT) for words in (before, after) if words)
    call = ToolCall(call_id, "bash", {"command": blocks[0][1].strip()}, trust=Trust.ASSISTANT)
    thinking = (part for part in message.parts if not isinstance(part, Text))
    return Message(Role.ASSISTANT, (*thinking, *said, call))


def result_of(message: Message, call_id: str) -> Message:
    """Read an observation in the user's role as the result of a call."""
    parts: tuple[Part, ...] = tuple(replace(part, trust=Trust.UNTRUSTED) for part in message.parts)
    return Message(Role.TOOL, (ToolResult(call_id, parts, name="bash", trust=Trust.UNTRUSTED),))
