"""The progress log of a session: a checkpoint after each compaction, and whenever the caller asks for one."""

from __future__ import annotations

from datetime import UTC, datetime

from clew.log import PROGRESS, new_event
from clew.log.protocol import Event
from clew.message import Cite
from clew.request.progress_log import Checkpoint, checkpoint_to_json, checkpoints, next_checkpoint
from clew.session.replay import Replay


def recorded_checkpoints(replay: Replay) -> list[Checkpoint]:
    """Return the checkpoints in the log, oldest first."""
    return checkpoints(replay.store.read(replay.ctx, kinds=[PROGRESS.name]))


def upcoming(replay: Replay, past: list[Checkpoint], why: str) -> Checkpoint | None:
    """Return the checkpoint that follows these; None if nothing happened since the last."""

    def quote(cite: Cite) -> str:
        message = replay.original(cite.message)
        known = message is not None and cite.part < len(message.parts)
        return cite.quote(message).strip() if message and known else ""

    now = datetime.now(UTC).isoformat(timespec="seconds")
    return next_checkpoint(replay.ledger, past, time=now, why=why, quote=quote)


def take(replay: Replay, why: str) -> Checkpoint | None:
    """Record a checkpoint; None if nothing happened since the last one."""
    taken: list[Checkpoint] = []

    def decide() -> list[Event]:
        checkpoint = upcoming(replay, recorded_checkpoints(replay), why)
        taken[:] = [checkpoint] if checkpoint else []
        return [new_event(PROGRESS.name, checkpoint_to_json(item), PROGRESS.version) for item in taken]

    replay.append(decide)
    return taken[0] if taken else None
