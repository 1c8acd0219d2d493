"""A checkpoint of the progress log, and its JSON form as the body of a ``progress`` event."""

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
    """The state of the work at some moment, and what was done since the previous checkpoint."""

    name: str
    """Its number: ``k3`` is the third."""
    time: str
    why: str
    """What triggered it: a compaction, a milestone, a user request."""
    since: int
    """The number of the last message that earlier checkpoints cover."""
    upto: int
    """The number of the last message that this one covers."""
    goal: Point | None = None
    changed: tuple[Point, ...] = ()
    """What changed since the previous checkpoint: files, decisions, finished tasks, fixed failures."""
    evidence: tuple[Point, ...] = ()
    """What proves it: commands with their results, passing tests."""
    open: tuple[Point, ...] = ()
    """What is unfinished or broken."""
    next: Point | None = None
    """The next step."""


def checkpoint_to_json(checkpoint: Checkpoint) -> JsonObject:
    """Return the body of a ``progress`` event; the time is stored in the event itself."""
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
    """Return the checkpoint in an event of this time."""
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
        raise StoreDamaged(f"cannot read a checkpoint ({cause!r})") from cause


def _point_to_json(point: Point | None) -> Json:
    return [point.text, point.source, point.trust.label] if point else None


def _point(written: Any) -> Point | None:  # noqa: ANN401 - JSON enters here
    return Point(str(written[0]), str(written[1]), _TRUST[written[2]]) if written is not None else None


def _points(written: Any) -> tuple[Point, ...]:  # noqa: ANN401 - JSON enters here
    return tuple(point for one in written if (point := _point(one)))
