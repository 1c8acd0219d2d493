"""A view as JSON and back, so that a long log is not folded from its beginning each time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Any, overload

from clew.errors import StoreDamaged
from clew.log.prefix import Prefix
from clew.log.view import LogProblem, Ref, Step, View
from clew.message import Json, JsonObject


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
            tuple(Step(step["seq"], _refs(step["before"])) for step in body["steps"]),
            body["off"] is True,
            Prefix(LogProblem(*problem) for problem in body.get("problems", ())),
        )
    except (KeyError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"a view cannot be read back ({cause!r})") from cause


class Runs(Sequence[Ref]):
    """References stored as runs: the first event, how many consecutive ones, and which message of each."""

    __slots__ = ("_ends", "runs")

    def __init__(self, runs: Iterable[tuple[int, int, int]]) -> None:
        self.runs = [(int(first), int(count), int(nth)) for first, count, nth in runs]
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
