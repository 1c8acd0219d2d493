"""A proposed compaction: operations on a view, as data; and what applying it gives.

A dry run is a plan that is not committed; the loss preview is a check of it; adapters apply it to another
framework's message list; an undo removes it from the log's fold.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import ParamSpec, TypeAlias, TypeVar, assert_never

from clew.compaction.plan.digest import Digest
from clew.compaction.plan.render import digest_message
from clew.errors import StalePlan
from clew.message import Item, Message


class Rung(StrEnum):
    """The steps of the ladder, gentlest first."""

    PRUNE = "prune"
    """Show tool output and repetition in a short form; messages stay in the view."""
    SUMMARISE = "summarise"
    """Replace consecutive messages by a digest."""
    FOLD = "fold"
    """The same, if an earlier digest is among them: it becomes part of the new one."""
    TRUNCATE = "truncate"
    """Shorten or remove what even a digest cannot make fit, such as long prose of the running turn."""


@dataclass(frozen=True, slots=True)
class Shrink:
    """Show a smaller form of one message; the original stays in the log."""

    id: str
    """The message's id in the view."""
    message: Message
    """What is shown instead: same role and call ids, so that calls and results still match.

    Without parts, nothing is shown: the message had only thinking."""
    reason: str
    """For people: ``read again later by m41``."""
    rung: Rung = Rung.PRUNE

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the messages it changes, as of the other operations."""
        return (self.id,)


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
    """Of the view, and of rules set by hand that were sent beside it, if a digest states them from now on."""
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


def apply(plan: Plan, view: Sequence[Item]) -> list[Item]:
    """Return the view after a plan; a digest's message has the digest's id.

    Raise ``StalePlan`` if the plan names messages that the view lacks, or has in another order.
    """
    _must_have_unique_ids(view)
    places = {item.id: i for i, item in enumerate(view)}
    after: list[Item | None] = list(view)
    touched: set[int] = set()
    for operation in plan.operations:
        mine = _places_of(operation, places)
        if not touched.isdisjoint(mine):
            raise StalePlan(f"two operations for {view[min(touched.intersection(mine))].id}")
        touched.update(mine)
        for place in mine:
            after[place] = None
        match operation:
            case Shrink(id=name, message=message):
                after[mine[0]] = Item(name, message) if message.parts else None
            case Condense(digest=digest):
                after[mine[0]] = Item(digest.id, digest_message(digest))
            case Drop():
                pass
            case _:
                assert_never(operation)
    remaining_items = [item for item in after if item is not None]
    _must_have_unique_ids(remaining_items)
    return remaining_items


def _must_have_unique_ids(view: Sequence[Item]) -> None:
    if len({item.id for item in view}) < len(view):
        raise StalePlan("two messages of one view have the same id")


def _places_of(operation: Operation, places: Mapping[str, int]) -> list[int]:
    names = operation.ids
    try:
        mine = [places[name] for name in names]
    except KeyError as missing:
        raise StalePlan(f"no message {missing.args[0]} in the view") from None
    if isinstance(operation, Condense) and (not mine or mine != list(range(mine[0], mine[0] + len(mine)))):
        raise StalePlan("a digest must replace consecutive messages of the view, in their order")
    return mine


Given = ParamSpec("Given")
Made = TypeVar("Made")


@contextmanager
def paused_gc() -> Iterator[None]:
    """Pause the garbage collector.

    Making or checking a plan allocates tens of thousands of small, short-lived values without cycles. The
    collector would respond with one or two full collections of the host's memory per pass. If the host has
    disabled the collector, it stays disabled.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:  # with two threads at once, the first to finish enables it again
            gc.enable()


def gc_paused(work: Callable[Given, Made]) -> Callable[Given, Made]:
    """Run a function with the garbage collector paused."""

    @wraps(work)
    def run(*args: Given.args, **named: Given.kwargs) -> Made:
        with paused_gc():
            return work(*args, **named)

    return run
