"""A view: what the model would see, as references into the log; and a view as JSON and back.

A view holds no messages, only references to the events that hold them: a million visible messages are a
million small references, earlier views stay available, and only shown messages are loaded. If events 1 to 3
are messages and event 4 compacts the first two, ``view.whole`` is ``Ref(1), Ref(2), Ref(3)`` and
``view.entries``, what is shown, is ``Ref(4, 0), Ref(3)``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, islice
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, overload

from clew.errors import StoreDamaged
from clew.message import Json, JsonObject

T = TypeVar("T")


class Prefix(Sequence[T]):
    """An immutable base followed by the first items of a shared list, which may have grown since.

    Appending to the longest prefix extends the shared list; appending to a shorter one copies it. So a fold
    over a million events is linear, and every earlier view stays valid. The base may use less memory than a
    list.
    """

    __slots__ = ("_items", "_own", "base")

    def __init__(self, items: Iterable[T] = (), base: Sequence[T] = ()) -> None:
        self.base = base
        self._items = list(items)
        self._own = len(self._items)

    def add(self, item: T) -> Prefix[T]:
        """Return this sequence with one more item; this one does not change."""
        items = self._items
        if len(items) == self._own:
            items.append(item)
            # Another thread may have added an item since the check: then this item is not the next one.
            if items[self._own] is item:
                return self._of(items)
        return self._of([*self.own, item])

    def _of(self, items: list[T]) -> Prefix[T]:
        prefix: Prefix[T] = Prefix.__new__(Prefix)
        prefix.base, prefix._items, prefix._own = self.base, items, self._own + 1
        return prefix

    @property
    def own(self) -> list[T]:
        """Return the items after the base."""
        return self._items[: self._own]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index] - len(self.base)
        return self._items[place] if place >= 0 else self.base[place]

    def __len__(self) -> int:
        return len(self.base) + self._own

    def __iter__(self) -> Iterator[T]:
        return chain(self.base, islice(self._items, self._own))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prefix):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Prefix({self[:]!r})"


class Ref(NamedTuple):
    """The position of a visible message: its event, and its index among that event's messages."""

    seq: int
    nth: int = 0


class CompactionStep(NamedTuple):
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
    """Messages to show instead of consecutive ones: from ``first`` to ``last``, both included.

    ``Splice(Ref(1), Ref(8), (Ref(9, 0),))``: the first message of event 9, a digest, replaces events 1 to 8.
    """

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
    steps: tuple[CompactionStep, ...] = ()
    """The compactions in effect, oldest first."""
    off: bool = False
    """Compaction is switched off: the whole history is shown."""
    problems: Prefix[LogProblem] = field(default_factory=Prefix)
    """Events that were skipped because they do not fit the events before them."""
    resumed: bool = False
    """Whether the view continues from what the tool of an imported session left, not from every message."""

    @property
    def entries(self) -> Prefix[Ref]:
        """Return what is shown."""
        return self.whole if self.off or self.compacted is None else self.compacted

    def number(self, seq: int) -> int:
        """Return the number of the message that an event holds, counted from 1."""
        base = self.whole.base
        number = base.number(seq) if isinstance(base, Runs) else 0
        if number < len(base):
            return number
        return bisect_right(self.whole, seq, lo=number, key=lambda ref: ref.seq)

    def show(self, ref: Ref) -> View:
        """Return this view with one more message."""
        compacted = None if self.compacted is None else self.compacted.add(ref)
        return replace(self, whole=self.whole.add(ref), compacted=compacted)

    def splice(self, seq: int, splices: Iterable[Splice]) -> View:
        """Return this view after a compaction, which changes ``compacted`` even if ``off`` is set."""
        before = self.whole if self.compacted is None else self.compacted
        shown = _splice(before, splices)
        return replace(self, compacted=Prefix(shown), steps=(*self.steps, CompactionStep(seq, before)))

    def resume(self, refs: Iterable[Ref]) -> View:
        """Return a view that starts with these references, before any compaction of clew's own."""
        if self.steps:
            raise StoreDamaged("a session that clew compacted cannot continue from its tool's summary")
        return replace(self, compacted=Prefix(refs), resumed=True)

    def undo(self, seq: int) -> View:
        """Return this view without a compaction and those built on it."""
        kept_steps = tuple(step for step in self.steps if step.seq < seq)
        undone = self.steps[len(kept_steps) :]
        if not undone or undone[0].seq != seq:
            raise StoreDamaged(f"it undoes the compaction of event {seq}, which is not in force")
        if not kept_steps and not self.resumed:
            return replace(self, compacted=None, steps=())
        since = self.whole[self.number(seq) :]
        return replace(self, compacted=Prefix([*undone[0].before, *since]), steps=kept_steps)


def _splice(before: Prefix[Ref], splices: Iterable[Splice]) -> list[Ref]:
    """Return the references of a view after a compaction: each replaced run becomes what is shown instead."""
    shown: list[Ref] = []
    places = {ref: i for i, ref in enumerate(before)}
    done = 0
    try:
        for splice in sorted(splices, key=lambda splice: places[splice.first]):
            start, stop = places[splice.first], places[splice.last] + 1
            if not done <= start < stop:
                raise StoreDamaged(f"a compaction replaces event {splice.first.seq} twice")
            shown += before[done:start]
            shown += splice.shows
            done = stop
    except KeyError as missing:
        raise StoreDamaged(f"a compaction replaces {missing.args[0]}, which is not shown") from None
    return shown + before[done:]


def view_to_json(view: View) -> JsonObject:
    """Return a view as JSON; a run of consecutive messages takes three numbers."""
    return {
        "whole": _runs(view.whole),
        "seq": view.seq,
        "skipped": dict(view.skipped),
        "compacted": None if view.compacted is None else _runs(view.compacted),
        "steps": [{"seq": step.seq, "before": _runs(step.before)} for step in view.steps],
        "off": view.off,
        "problems": [list[Json](problem) for problem in view.problems],
        "resumed": view.resumed,
    }


def view_from_json(value: JsonObject) -> View:
    """Return the view that ``view_to_json`` wrote."""
    body: dict[str, Any] = value
    try:
        compacted = body["compacted"]
        return View(
            _refs(body["whole"]),
            body["seq"],
            MappingProxyType(dict(body["skipped"])),
            None if compacted is None else _refs(compacted),
            tuple(CompactionStep(step["seq"], _refs(step["before"])) for step in body["steps"]),
            body["off"] is True,
            Prefix(LogProblem(*problem) for problem in body.get("problems", ())),
            body.get("resumed") is True,
        )
    except (KeyError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"a view cannot be read back ({cause!r})") from cause


class Runs(Sequence[Ref]):
    """References stored as runs: the first event, how many consecutive ones, and which message of each.

    ``[(1, 3, 0), (9, 1, 1)]`` holds ``Ref(1), Ref(2), Ref(3), Ref(9, 1)``.
    """

    __slots__ = ("_ends", "_firsts", "runs")

    def __init__(self, runs: Iterable[tuple[int, int, int]]) -> None:
        self.runs = [(int(first), int(count), int(nth)) for first, count, nth in runs]
        self._firsts = [first for first, _, _ in self.runs]
        self._ends = list(accumulate(count for _, count, _ in self.runs))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Ref: ...
    @overload
    def __getitem__(self, index: slice) -> list[Ref]: ...
    def __getitem__(self, index: int | slice) -> Ref | list[Ref]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        run = bisect_right(self._ends, place)
        first, count, nth = self.runs[run]
        return Ref(first + place - (self._ends[run] - count), nth)

    def number(self, seq: int) -> int:
        """Return how many references point at this event or an earlier one; they must be ascending."""
        run = bisect_right(self._firsts, seq) - 1
        if run < 0:
            return 0
        first, count, _ = self.runs[run]
        return self._ends[run] - count + min(count, seq - first + 1)

    def __iter__(self) -> Iterator[Ref]:
        return (Ref(seq, nth) for first, count, nth in self.runs for seq in range(first, first + count))


def _runs(refs: Prefix[Ref]) -> list[Json]:
    """Return references as runs; those that were loaded as runs are not scanned again."""
    known = refs.base.runs if isinstance(refs.base, Runs) else ()
    runs = [list(run) for run in known]
    for seq, nth in refs.own if known else refs:
        if runs and runs[-1][2] == nth and runs[-1][0] + runs[-1][1] == seq:
            runs[-1][1] += 1
        else:
            runs.append([seq, 1, nth])
    return [list[Json](run) for run in runs]


def _refs(runs: Iterable[tuple[int, int, int]]) -> Prefix[Ref]:
    return Prefix(base=Runs(runs))
