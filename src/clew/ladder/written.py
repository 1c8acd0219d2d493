"""What passes between the ladder and whoever writes the prose of a digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.ladder.brief import Brief
from clew.message import Item
from clew.plan import Claim, Digest


@dataclass(frozen=True, slots=True)
class Outline:
    """A digest that is to be written: of what, around what, and how long it may be."""

    span: Sequence[Item]
    """What will leave the view, in order; the message of an earlier digest among them."""
    brief: Brief
    """What code puts into the digest whatever is written: rules, goal, open loops, files, failures."""
    room_tokens: int
    """For what is written."""
    earlier: Digest | None = None
    """The digest that goes into this one."""


@dataclass(frozen=True, slots=True)
class Written:
    """What somebody wrote about a span: claims, each with its sources."""

    claims: tuple[Claim, ...]
    author: str
    """The model's name."""
    prompt_version: str
    read: tuple[str, ...] = ()
    """The ids of the messages that the writer was shown: all of the span, or it says less than it covers."""
    problems: tuple[str, ...] = ()
    """What went wrong on the way, in words for people."""
