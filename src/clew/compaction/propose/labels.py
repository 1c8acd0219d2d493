"""Trust labels of cited places and claims."""

from __future__ import annotations

from collections.abc import Callable

from clew.compaction.plan import Claim
from clew.message import Cite, Message, Text, ToolResult, Trust


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
