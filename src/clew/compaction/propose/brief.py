"""The mandatory content of a digest, what a model is asked to write, and trust labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clew.compaction.ledger_claims import MandatoryContent
from clew.compaction.plan import Claim, Digest
from clew.compaction.plan.digest import ORDER
from clew.message import Cite, Item, Message, Text, ToolResult, Trust


def number_claims(claims: Iterable[Claim], digest_id: str) -> tuple[Claim, ...]:
    """Sort claims into display order and give them ids."""
    shown_claims = sorted(claims, key=lambda claim: ORDER[claim.kind])
    return tuple(numbered._replace(id=f"{digest_id}.{n}") for n, numbered in enumerate(shown_claims, start=1))


@dataclass(frozen=True, slots=True)
class Outline:
    """The request for prose: the span, what code adds anyway, and the room."""

    span: Sequence[Item]
    """The messages that will leave the view, in order, including that of an earlier digest."""
    brief: MandatoryContent
    """What code puts into the digest in any case: rules, goal, open items, files, failures."""
    room_tokens: int
    """For the prose."""
    earlier: Digest | None = None
    """The digest that is folded into this one."""


@dataclass(frozen=True, slots=True)
class Written:
    """A model's prose about a span: claims with sources."""

    claims: tuple[Claim, ...]
    author: str
    """The model's name."""
    prompt_version: str
    read: tuple[str, ...] = ()
    """The ids of the messages the model was shown; if not all of the span, the digest is incomplete."""
    problems: tuple[str, ...] = ()
    """What went wrong, for people."""


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
