"""Undo the last compactions of a session; messages added since stay."""

from __future__ import annotations

from clew.errors import InputError, StalePlan
from clew.log import UNDO, new_event
from clew.log.events import Event
from clew.message import JsonObject
from clew.session.record import Compaction
from clew.session.replay import Replay

ADVICE = "nothing was changed; list the compactions in force, then undo again"


def undo(replay: Replay, compactions: int, newest: str | None = None) -> list[Compaction]:
    """Append an undo of the last compactions; return them, newest first.

    Only compactions that the caller has seen are undone: up to ``newest``, the last one shown to them, or by
    default those that this process has read. ``StalePlan`` if another process compacted or undid since.
    """
    seen = _in_force(replay)
    undone: list[Compaction] = []

    def decide() -> list[Event]:
        in_force = _in_force(replay)
        last = replay.compaction(in_force[-1]).name if in_force else None
        if newest is not None and last != newest:
            raise StalePlan(
                f"{newest} is no longer the last compaction in force, {last or 'none'} is", ADVICE
            )
        if newest is None and in_force != seen:
            raise StalePlan(_what_happened(seen, in_force), ADVICE)
        if not 0 < compactions <= len(in_force):
            some = {0: "there is none", 1: "there is 1"}.get(len(in_force), f"there are {len(in_force)}")
            raise InputError(f"cannot undo {compactions}", f"{some} to undo")
        undone[:] = [replay.compaction(seq) for seq in in_force[-compactions:]]
        back = sum(one.plan.tokens_before - one.plan.tokens_after for one in undone)
        state = replay.state.undone(replay.tokens + back)
        body: JsonObject = {"compaction": undone[0].seq, "state": state.to_json()}
        return [new_event(UNDO.name, body, UNDO.version)]

    replay.append(decide)
    return undone[::-1]


def _in_force(replay: Replay) -> list[int]:
    return [step.seq for step in replay.view.steps]


def _what_happened(seen: list[int], in_force: list[int]) -> str:
    if set(in_force) <= set(seen):
        return "another process undid a compaction meanwhile"
    return "another process compacted meanwhile"
