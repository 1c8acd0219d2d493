"""A proposed compaction: operations on a view, as data. Creating a plan changes nothing.

A dry run is a plan that is not committed; the loss preview is a check of it; adapters apply it to another
framework's message list; an undo removes it from the log's fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from clew.compaction.plan.digest import Digest
from clew.message import Message


class Rung(StrEnum):
    """The steps of the ladder, gentlest first."""

    PRUNE = "prune"
    SUMMARISE = "summarise"
    FOLD = "fold"
    TRUNCATE = "truncate"


@dataclass(frozen=True, slots=True)
class Shrink:
    """Show a smaller form of one message; the original stays in the log."""

    id: str
    """The message's id in the view."""
    message: Message
    """What is shown instead: same role and call ids, so that calls and results still match."""
    reason: str
    """For people: ``read again later by m41``."""
    rung: Rung = Rung.PRUNE


@dataclass(frozen=True, slots=True)
class Condense:
    """Show a digest in place of consecutive messages of the view; they stay in the log."""

    ids: tuple[str, ...]
    digest: Digest
    rung: Rung = Rung.SUMMARISE


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove these from the view; allowed only for messages that a digest covers and the log has."""

    ids: tuple[str, ...]
    reason: str
    rung: Rung = Rung.TRUNCATE


Operation: TypeAlias = Shrink | Condense | Drop


@dataclass(frozen=True, slots=True)
class Freed:
    """How much one rung freed."""

    rung: Rung
    operations: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A proposed compaction of a view."""

    operations: tuple[Operation, ...]
    tokens_before: int
    tokens_after: int
    target_tokens: int
    trigger: str
    """What asked for it: ``pressure``, ``manual``, ``oversized``, …"""
    reason: str
    """Why, for people."""
    freed: tuple[Freed, ...] = ()

    @property
    def digests(self) -> tuple[Digest, ...]:
        """Return the digests it would insert."""
        return tuple(op.digest for op in self.operations if isinstance(op, Condense))

    @property
    def fits(self) -> bool:
        """Whether it reaches its target."""
        return self.tokens_after <= self.target_tokens
