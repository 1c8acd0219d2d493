"""A view: what the model would see, as references into the log.

A view holds no messages, only references to the events that hold them: a million visible messages are a
million small references, earlier views stay available, and only shown messages are loaded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from clew.errors import StoreDamaged
from clew.log.prefix import Prefix


class Ref(NamedTuple):
    """The position of a visible message: its event, and its index among that event's messages."""

    seq: int
    nth: int = 0


class Step(NamedTuple):
    """A compaction in effect: its event, and what was shown before it."""

    seq: int
    before: Prefix[Ref]


class LogProblem(NamedTuple):
    """An event that does not apply and was skipped."""

    seq: int
    kind: str
    reason: str

    def __str__(self) -> str:
        """Return one line: which event, and why."""
        return f"event {self.seq} ({self.kind}): {self.reason}"


class Splice(NamedTuple):
    """Messages to show instead of consecutive ones: from ``first`` to ``last``, both included."""

    first: Ref
    last: Ref
    shows: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What the model would see, as references into the log."""

    whole: Prefix[Ref] = field(default_factory=Prefix)
    """Every message, as if nothing had been compacted."""
    seq: int = 0
    """The last event that was folded into it."""
    skipped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How many events of unknown kinds were skipped, by kind."""
    compacted: Prefix[Ref] | None = None
    """What is shown after the compactions in effect; None if there are none."""
    steps: tuple[Step, ...] = ()
    """The compactions in effect, oldest first."""
    off: bool = False
    """Compaction is switched off: the whole history is shown."""
    problems: Prefix[LogProblem] = field(default_factory=Prefix)
    """Events that were skipped because they do not fit the events before them."""

    @property
    def entries(self) -> Prefix[Ref]:
        """Return what is shown."""
        return self.whole if self.off or self.compacted is None else self.compacted

    def number(self, seq: int) -> int:
        """Return the number of the message that an event holds, counted from 1."""
        return bisect_right(self.whole, seq, key=lambda ref: ref.seq)

    def show(self, ref: Ref) -> View:
        """Return this view with one more message."""
        compacted = None if self.compacted is None else self.compacted.add(ref)
        return replace(self, whole=self.whole.add(ref), compacted=compacted)

    def spliced(self, seq: int, splices: Iterable[Splice]) -> View:
        """Return this view after a compaction, which changes ``compacted`` even if ``off`` is set."""
        before = self.whole if self.compacted is None else self.compacted
        left = _spliced(before, splices)
        return replace(self, compacted=Prefix(left), steps=(*self.steps, Step(seq, before)))

    def without(self, seq: int) -> View:
        """Return this view without a compaction and those built on it."""
        kept = tuple(step for step in self.steps if step.seq < seq)
        undone = self.steps[len(kept) :]
        if not undone or undone[0].seq != seq:
            raise StoreDamaged(f"it undoes the compaction of event {seq}, which is not in force")
        if not kept:
            return replace(self, compacted=None, steps=())
        since = self.whole[self.number(seq) :]
        return replace(self, compacted=Prefix([*undone[0].before, *since]), steps=kept)


def _spliced(before: Prefix[Ref], splices: Iterable[Splice]) -> list[Ref]:
    left: list[Ref] = []
    places = {ref: i for i, ref in enumerate(before)}
    done = 0
    try:
        for splice in sorted(splices, key=lambda splice: places[splice.first]):
            start, stop = places[splice.first], places[splice.last] + 1
            if not done <= start < stop:
                raise StoreDamaged(f"a compaction replaces event {splice.first.seq} twice")
            left += before[done:start]
            left += splice.shows
            done = stop
    except KeyError as missing:
        raise StoreDamaged(f"a compaction replaces {missing.args[0]}, which is not shown") from None
    return left + before[done:]
