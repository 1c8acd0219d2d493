"""Derive a checkpoint from the ledger by code, so that no model can forget or invent one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from clew.ledger.artifacts import Artifact
from clew.ledger.exchange import Ended
from clew.ledger.goal import Goal
from clew.ledger.ledger import Ledger
from clew.ledger.loop import LATER, Closed, Loop, LoopKind
from clew.ledger.shell import CHANGES, Action
from clew.log import PROGRESS
from clew.log.protocol import Stored
from clew.message import Cite, Trust
from clew.request.progress.checkpoint import Checkpoint, Point, checkpoint_from_json

MOST = 12
"""Points of one list, files not counted; the latest are kept. This and the limits below: chosen by hand."""
MOST_FILES = 60
"""Changed files that are named; if there are more, the latest, and the number of the others."""
MOST_COMMANDS = 6
"""Commands listed as evidence; the latest."""
LONGEST = 240
"""Characters of one point."""
_SETTLED = {
    Closed.DONE: "done",
    Closed.CANCELLED: "cancelled",
    Closed.ANSWERED: "answered",
    Closed.REPORTED: "reported",
}
_NEXT = (LoopKind.PROMISE, LoopKind.REQUEST, LoopKind.TODO, LoopKind.TEST)
_NUMBER = re.compile(r"m(\d+)")


def checkpoint_from(ledger: Ledger, since: int, *, name: str, time: str, why: str) -> Checkpoint:
    """Return the state of the work, and what the messages after number ``since`` did."""
    return Checkpoint(
        name=name,
        time=time,
        why=why,
        since=since,
        upto=len(ledger),
        goal=_point(ledger.goal.quote, ledger.goal.source, ledger.goal.trust) if ledger.goal else None,
        changed=(*_last(_decided(ledger, since)), *_files(ledger, since), *_last(_settled(ledger, since))),
        evidence=_last(_evidence(ledger, since)),
        open=_last(_open(ledger)),
        next=_next(ledger),
    )


def next_checkpoint(ledger: Ledger, past: Sequence[Checkpoint], *, time: str, why: str) -> Checkpoint | None:
    """Return the checkpoint that follows these; None if nothing happened since the last."""
    since = past[-1].upto if past else 0
    if len(ledger) <= since:
        return None
    return checkpoint_from(ledger, since, name=f"k{len(past) + 1}", time=time, why=why)


def checkpoints(events: Iterable[Stored]) -> list[Checkpoint]:
    """Return the checkpoints among events, oldest first."""
    return [
        checkpoint_from_json(PROGRESS.current(stored).event.body, stored.event.time)
        for stored in events
        if stored.event.kind == PROGRESS.name
    ]


# Points from the ledger ------------------------------------------------------------------------------


def _decided(ledger: Ledger, since: int) -> Iterator[Point]:
    for goal in ledger.goals[:-1]:  # the last one is the checkpoint's goal
        if _is_new(goal.source, since):
            yield _point(f"went on from: {goal.quote}", goal.source, goal.trust)
    for decision in ledger.decisions:
        if _is_new(decision.source, since):
            yield _point(f"decided: {decision.quote}", decision.source, decision.trust)


def _files(ledger: Ledger, since: int) -> list[Point]:
    """Return the changed files. They have their own limit: a resumed session must know them."""
    points = [
        _point(f"{_action(file)}: {file.name}", file.last_change, Trust.UNTRUSTED)
        for file in ledger.artifacts.changed
        if file.last_change and _is_new(file.last_change, since)
    ]
    points.sort(key=lambda point: _number(point.source))
    earlier, named = points[:-MOST_FILES], points[-MOST_FILES:]
    return [*(replace(one, text=f"and {len(earlier):,} more files") for one in earlier[-1:]), *named]


def _action(file: Artifact) -> Action:
    return file.action if file.action in CHANGES else Action.MODIFIED


def _settled(ledger: Ledger, since: int) -> Iterator[Point]:
    for loop in ledger.loops.closed:
        how = _SETTLED.get(loop.closed) if loop.closed else None
        if how and loop.closed_by and _is_new(loop.closed_by, since):
            yield _point(f"{how}: {loop.text}", loop.closed_by)


def _evidence(ledger: Ledger, since: int) -> Iterator[Point]:
    for loop in ledger.loops.closed:
        if loop.closed is Closed.PASSED and loop.closed_by and _is_new(loop.closed_by, since):
            yield _point(f"passes now: {loop.text}", loop.closed_by, Trust.UNTRUSTED)
    for failure in ledger.failures:
        if failure.mended_by and _is_new(failure.mended_by, since):
            yield _point(f"works now: {failure.subject or failure.tool}", failure.mended_by, Trust.UNTRUSTED)
    ran = [command for command in ledger.artifacts.commands if _is_new(command.last, since)]
    for command in ran[-MOST_COMMANDS:]:
        if command.ended is not Ended.REFUSED:
            yield _point(f"{_ending(command)}: {command.name}", command.last, Trust.UNTRUSTED)


def _ending(command: Artifact) -> str:
    if command.exit_code is not None:
        return f"exit {command.exit_code}"
    return "failed" if command.ended is Ended.FAILED else "ran"


def _open(ledger: Ledger) -> Iterator[Point]:
    for loop in ledger.loops.open:
        if _is_goal(loop, ledger.goal):
            continue  # already the checkpoint's goal
        trust = Trust.UNTRUSTED if loop.kind is LoopKind.TEST else Trust.ASSISTANT
        put_off = f" ({LATER})" if loop.status == LATER else ""
        yield _point(f"{loop.kind}{put_off}: {loop.text}", loop.source, trust)
    for failure in ledger.failures:
        if not failure.is_mended:
            told = failure.lines[-1].strip() if failure.lines else "failed"
            subject = failure.subject or failure.tool
            yield _point(f"fails: {subject}: {told}", failure.attempts[-1], Trust.UNTRUSTED)


def _next(ledger: Ledger) -> Point | None:
    """Return the next step: what is in progress, announced or requested; deferred items come last."""
    loops = ledger.loops.open
    under_way = (loop for loop in loops if loop.status == "in_progress")
    by_kind = (loop for kind in _NEXT for loop in loops if loop.kind is kind and loop.status != LATER)
    put_off = (loop for loop in loops if loop.status == LATER)
    found = next(chain(under_way, by_kind, put_off), None)
    if found is None:
        return None
    return _point("go on with the goal" if _is_goal(found, ledger.goal) else found.text, found.source)


def _is_goal(loop: Loop, goal: Goal | None) -> bool:
    """Return True if an open request is the goal itself; their quotes may end at different places."""
    return loop.kind is LoopKind.REQUEST and goal is not None and loop.source.message == goal.source.message


# Formatting ------------------------------------------------------------------------------------------


def _is_new(cite: Cite, since: int) -> bool:
    number = _number(cite.message)
    return not number or number > since


def _number(message: str) -> int:
    """Return the number of a message, counted from 1; 0 if it has none."""
    found = _NUMBER.fullmatch(message)
    return int(found[1]) if found else 0


def _point(text: str, source: Cite, trust: Trust = Trust.ASSISTANT) -> Point:
    flat = " ".join(text.split())
    return Point(flat if len(flat) <= LONGEST else f"{flat[:LONGEST]}…", source.message, trust)


def _last(points: Iterator[Point]) -> tuple[Point, ...]:
    return tuple(dict.fromkeys(points))[-MOST:]
