"""What is passed to the model that writes a digest's prose, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.compaction.plan import Claim, Digest
from clew.compaction.propose.brief import Brief
from clew.message import Item


@dataclass(frozen=True, slots=True)
class Outline:
    """The request for prose: the span, what code adds anyway, and the room."""

    span: Sequence[Item]
    """The messages that will leave the view, in order, including that of an earlier digest."""
    brief: Brief
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
