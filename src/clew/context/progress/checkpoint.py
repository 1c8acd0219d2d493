"""A checkpoint of the progress log, and its form as the body of a ``progress`` event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clew.errors import StoreDamaged
from clew.message import Json, JsonObject, Trust

_LISTS = ("changed", "evidence", "open")
_TRUST = {trust.label: trust for trust in Trust}


@dataclass(frozen=True, slots=True)
class Point:
    """One line of a checkpoint, and the message that it comes from."""

    text: str
    source: str
    """The id of the message: ``m12``."""
    trust: Trust = Trust.ASSISTANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Where the work stood at some moment, and what was done since the checkpoint before."""

    name: str
    """By its number: ``k3`` is the third."""
    time: str
    why: str
    """What made it: a compaction, a milestone, a person's word."""
    since: int
    """The messages up to this number are told by earlier checkpoints..."""
    upto: int
    """...and those up to this one here."""
    goal: Point | None = None
    changed: tuple[Point, ...] = ()
    """What is different since the checkpoint before: files, decisions, tasks done, failures mended."""
    evidence: tuple[Point, ...] = ()
    """What shows it: commands and how they ended, tests that pass."""
    open: tuple[Point, ...] = ()
    """What is unfinished or broken."""
    next: Point | None = None
    """What comes next."""


def checkpoint_to_json(checkpoint: Checkpoint) -> JsonObject:
    """Return the body of a ``progress`` event; its time is the event's own."""
    return {
        "name": checkpoint.name,
        "why": checkpoint.why,
        "since": checkpoint.since,
        "upto": checkpoint.upto,
        "goal": _point_to_json(checkpoint.goal),
        **{name: [_point_to_json(one) for one in getattr(checkpoint, name)] for name in _LISTS},
        "next": _point_to_json(checkpoint.next),
    }


def checkpoint_from_json(body: Mapping[str, Any], time: str) -> Checkpoint:
    """Return the checkpoint that an event of this time holds."""
    try:
        return Checkpoint(
            name=str(body["name"]),
            time=time,
            why=str(body["why"]),
            since=int(body["since"]),
            upto=int(body["upto"]),
            goal=_point(body["goal"]),
            changed=_points(body["changed"]),
            evidence=_points(body["evidence"]),
            open=_points(body["open"]),
            next=_point(body["next"]),
        )
    except (KeyError, TypeError, ValueError) as cause:
        raise StoreDamaged(f"a checkpoint cannot be read back ({cause!r})") from cause


def _point_to_json(point: Point | None) -> Json:
    return [point.text, point.source, point.trust.label] if point else None


def _point(written: Any) -> Point | None:  # noqa: ANN401 - JSON enters here
    return Point(str(written[0]), str(written[1]), _TRUST[written[2]]) if written is not None else None


def _points(written: Any) -> tuple[Point, ...]:  # noqa: ANN401 - JSON enters here
    return tuple(point for one in written if (point := _point(one)))
