"""Look up what a citation points at: its words, the answer to a cited call, and how far it is trusted.

A ``Cite`` names a message, a part of it and perhaps a range of characters. Its message may have left the view
long ago, so it is looked up with ``Find`` in its original form::

    quote_at(Cite("m7", 0, 12, 48), gone, find)  # ("the cause is a stale cache", Trust.ASSISTANT)
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

from clew.compaction.plan import Claim
from clew.message import Cite, Message, Text, ToolCall, ToolResult, Trust, words

Find: TypeAlias = Callable[[str], Message | None]
"""Finds a message of the session in its original form, by its id."""
ANSWERED_WITHIN = 6
"""Messages after a call in which its result is looked for: several calls may be answered one by one."""


def quote_at(cite: Cite, gone: Collection[str], find: Find) -> tuple[str, Trust] | None:
    """Return the words that a cite points at, and their trust label, if they leave the view."""
    message = find(cite.message) if cite.message in gone else None
    if message is None or cite.part >= len(message.parts):
        return None
    part = message.parts[cite.part]
    text = words(part)[cite.start : cite.end]
    return (text, min(part.trust, Trust.USER)) if text.strip() else None


def answer_to(cite: Cite, find: Find) -> tuple[Cite, str] | None:
    """Return where the result of a call is, and its text; None if it cannot be looked up."""
    message = find(cite.message)
    part = message.parts[cite.part] if message and cite.part < len(message.parts) else None
    if not isinstance(part, ToolCall):
        return None
    for number in range(cite.number + 1, cite.number + 1 + ANSWERED_WITHIN):
        answer = find(f"m{number}")
        for i, result in enumerate(answer.parts if answer else ()):
            if isinstance(result, ToolResult) and result.call_id == part.call_id:
                return Cite(f"m{number}", i), result.text
    return None


def trust_at(message: Message, cite: Cite) -> Trust | None:
    """Return the label of a place; None if there is no such part.

    Tool output has the tool's label. Only a person's words next to it have that person's.
    """
    if not 0 <= cite.part < len(message.parts):
        return None
    part = message.parts[cite.part]
    if isinstance(part, ToolResult) and len(part.parts) > 1 and cite.end is not None:
        start = 0
        for inner in part.parts:
            if isinstance(inner, Text):
                end = start + len(inner.text)
                if inner.trust >= Trust.USER and start <= cite.start and cite.end <= end:
                    return inner.trust
                start = end + 1
    return part.trust


def label_of(claim: Claim, original: Callable[[str], Message | None]) -> Trust:
    """Return the label of a claim: its own, or a lower one of the sources that can be looked up."""
    labels = [claim.trust]
    for cite in claim.sources:
        message = original(cite.message)
        trust = trust_at(message, cite) if message is not None else None
        if trust is not None:
            labels.append(trust)
    return min(labels)
