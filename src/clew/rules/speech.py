"""Who speaks in a message: the only place where words are attributed to the user or the model.

In a message of more than ``WHOLE_SPEECH`` characters something was pasted: people do not type that much.
Only its beginning (two thirds of ``WHOLE_SPEECH``) and its end (one third) count as the person's words; the
middle counts as pasted. The search for rules has its own, larger limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple, Protocol

from clew.message import Cite, Item, Message, Origin, Role, Text, ToolResult, Trust
from clew.message.text import lazy_pattern
from clew.rules.request_heading import request_span

DIGEST_TAG = "clew-digest"
"""The tag around a rendered digest."""
_DIGEST = f"<{DIGEST_TAG} "
_DIGEST_BLOCK = lazy_pattern(rf"^<{DIGEST_TAG} .*?^</{DIGEST_TAG}>", re.MULTILINE | re.DOTALL)
_COMMAND = "<command-name>"
"""The tag around the name of a slash command."""
_COMMAND_BEFORE = lazy_pattern(r"<command-name>\s*(/[\w:.-]+)\s*</command-name>\s*<command-args>\s*\Z")
WHOLE_SPEECH = 60_000
"""Characters; chosen by hand."""


class Speaker(Enum):
    """Whose words they are."""

    USER = "user"
    """Written by the person; text of a harness, tool or summariser does not count."""
    ASSISTANT = "assistant"
    PLAN = "plan"
    """Written by a model with the user's role: an approved plan, the task of a sub-agent."""


# Module-level names: they are used for every message, and enum attribute access is slow.
USER, ASSISTANT, PLAN = Speaker
_SPOKEN = Origin.SPOKEN
_OF_MODEL, _OF_USER, _OF_TOOL = Role.ASSISTANT, Role.USER, Role.TOOL


class Utterance(NamedTuple):
    """Words of a speaker and their position."""

    speaker: Speaker
    text: str
    trust: Trust
    message: str
    part: int
    start: int = 0
    """Position in the text of the part."""
    aside: bool = False
    """They are in the result of a call, which the person answered instead of the tool."""

    def cite(self, start: int, end: int) -> Cite:
        """Return the place of ``text[start:end]``."""
        return Cite(self.message, self.part, self.start + start, self.start + end)


class Spoken(Protocol):
    """A message with the words that were attributed to speakers, as the ledger reads it."""

    @property
    def item(self) -> Item:
        """Return the message."""

    @property
    def said(self) -> list[Utterance]:
        """Return the words of the user and of the model in it."""


def utterances(item: Item, *, in_full: bool = False) -> list[Utterance]:
    """Return the words of the user and of the model in a message, in order.

    With ``in_full``, what a tool wrote around a request and the command before its arguments count as well.
    """
    message = item.message
    speaker = _speaker(message)
    found: list[Utterance] = []
    if speaker is not None:
        for index, part in enumerate(message.parts):
            if isinstance(part, Text) and _holds(speaker, part):
                command = command_before(message, index) if in_full else ""
                if command:
                    found.append(
                        Utterance(speaker, f"{command} {part.text.strip()}", part.trust, item.id, index)
                    )
                for start, text in speech(part.text) if in_full else _spoken_pieces(speaker, part.text):
                    if _DIGEST in text:
                        found.extend(
                            _around_digests(Utterance(speaker, text, part.trust, item.id, index, start))
                        )
                    else:
                        found.append(Utterance(speaker, text, part.trust, item.id, index, start))
    if (message.role is _OF_TOOL or message.role is _OF_USER) and message.origin is _SPOKEN:
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolResult) and len(part.parts) > 1:
                found.extend(_words_in_result(part, item.id, index))
    return found


def command_before(message: Message, index: int) -> str:
    """Return the slash command whose arguments a part of a message holds; "" if it holds none."""
    before = message.parts[index - 1] if index else None
    named = _COMMAND_BEFORE.search(before.text) if isinstance(before, Text) else None
    return named[1] if named else ""


def is_prompt_of_command(before: Message, message: Message) -> bool:
    """Whether a message is the prompt that a harness puts after a slash command of the user."""
    is_prompt = message.role is _OF_USER and message.origin is Origin.INJECTED and not any(message.results)
    if not is_prompt or before.role is not _OF_USER or before.origin is not _SPOKEN:
        return False
    return any(_COMMAND in part.text for part in before.parts if isinstance(part, Text))


def _spoken_pieces(speaker: Speaker, text: str) -> list[tuple[int, str]]:
    """Return the pieces of a text that are the speaker's; of a request below a tool's instructions, that."""
    asked = request_span(text) if speaker is USER else None
    if asked is None:
        return speech(text)
    return [(asked[0] + start, piece) for start, piece in speech(text[asked[0] : asked[1]])]


def _around_digests(utterance: Utterance) -> Iterator[Utterance]:
    """Yield the text before, between and after digests; a digest quotes other speakers."""
    at = 0
    for block in (*_DIGEST_BLOCK.finditer(utterance.text), None):
        end = block.start() if block else len(utterance.text)
        if not utterance.text[at:end].isspace() and at < end:
            yield utterance._replace(text=utterance.text[at:end], start=utterance.start + at)
        at = block.end() if block else end


def speech(text: str, most: int = WHOLE_SPEECH) -> list[tuple[int, str]]:
    """Return the pieces of a text that may be speech, at most ``most`` characters, each with its start."""
    if len(text) <= most:
        return [(0, text)] if text and not text.isspace() else []
    first, last = most - most // 3, most // 3
    head = text.rfind("\n", 0, first) + 1 or first
    tail = text.find("\n", len(text) - last) + 1 or len(text) - last
    return [(0, text[:head]), (tail, text[tail:])]


def _speaker(message: Message) -> Speaker | None:
    role, origin = message.role, message.origin
    if origin is _SPOKEN:
        return ASSISTANT if role is _OF_MODEL else USER if role is _OF_USER else None
    return PLAN if role is _OF_USER and origin is Origin.INJECTED else None


def _holds(speaker: Speaker, part: Text) -> bool:
    if speaker is ASSISTANT:
        return True
    return part.trust >= Trust.USER if speaker is USER else part.trust is Trust.ASSISTANT


def _words_in_result(result: ToolResult, message: str, index: int) -> Iterator[Utterance]:
    """Yield a person's words in the result of a call, if a reader labelled them as such."""
    start = 0
    for part in result.parts:
        if isinstance(part, Text):
            if part.trust >= Trust.USER and part.text.strip():
                yield Utterance(Speaker.USER, part.text, part.trust, message, index, start, aside=True)
            start += len(part.text) + 1
