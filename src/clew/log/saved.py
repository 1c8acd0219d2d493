"""A view as JSON and back, so that a long log need not be folded again from its beginning."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

from clew.errors import StoreDamaged
from clew.log.prefix import Prefix
from clew.log.view import Ref, Step, View
from clew.message import Json, JsonObject


def view_to_json(view: View) -> JsonObject:
    """Return a view as JSON: runs of neighbouring messages take three numbers each."""
    return {
        "whole": _runs(view.whole),
        "seq": view.seq,
        "skipped": dict(view.skipped),
        "compacted": None if view.compacted is None else _runs(view.compacted),
        "steps": [{"seq": step.seq, "before": _runs(step.before)} for step in view.steps],
        "off": view.off,
    }


def view_from_json(value: JsonObject) -> View:
    """Read back what ``view_to_json`` wrote."""
    body: dict[str, Any] = value
    try:
        compacted = body["compacted"]
        return View(
            Prefix(_refs(body["whole"])),
            body["seq"],
            MappingProxyType(dict(body["skipped"])),
            None if compacted is None else Prefix(_refs(compacted)),
            tuple(Step(step["seq"], Prefix(_refs(step["before"]))) for step in body["steps"]),
            body["off"] is True,
        )
    except (KeyError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"a view cannot be read back ({cause!r})") from cause


def _runs(refs: Iterable[Ref]) -> list[Json]:
    """Return references as runs: the first event, how many after one another, which of their messages."""
    runs: list[list[int]] = []
    for seq, nth in refs:
        if runs and runs[-1][2] == nth and runs[-1][0] + runs[-1][1] == seq:
            runs[-1][1] += 1
        else:
            runs.append([seq, 1, nth])
    return [list[Json](run) for run in runs]


def _refs(runs: Iterable[tuple[int, int, int]]) -> Iterable[Ref]:
    return (Ref(seq, nth) for first, count, nth in runs for seq in range(first, first + count))
