"""What passes between code and the model that writes the prose of a digest.

Code asks with an ``Outline``: the messages that leave the view, what the digest says of them in any case, and
the tokens for the prose. The model's answer comes back as ``Written``: claims, each with its sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clew.compaction.ledger_claims import MandatoryContent
from clew.compaction.plan import Claim, Digest
from clew.compaction.plan.digest import ORDER
from clew.message import Item


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
