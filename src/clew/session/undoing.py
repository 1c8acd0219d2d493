"""Undoing: the last compactions are taken back, and what came since stays."""

from __future__ import annotations

from clew.errors import InputError
from clew.log import UNDO, new_event
from clew.message import JsonObject
from clew.session.record import Compaction
from clew.session.replay import Replay


def undo(replay: Replay, compactions: int) -> list[Compaction]:
    """Undo the last compactions, durably; return them, newest first."""
    replay.catch_up()
    steps = replay.view.steps
    if not 0 < compactions <= len(steps):
        some = {0: "there is none", 1: "there is 1"}.get(len(steps), f"there are {len(steps)}")
        raise InputError(f"cannot undo {compactions}", f"{some} to undo")
    undone = replay.in_force()[-compactions:]
    back = sum(one.plan.tokens_before - one.plan.tokens_after for one in undone)
    state = replay.state.undone(replay.tokens + back)
    body: JsonObject = {"compaction": undone[0].seq, "state": state.to_json()}
    replay.append(lambda: [new_event(UNDO.name, body, UNDO.version)])
    return undone[::-1]
