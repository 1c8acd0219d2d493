"""The progress log of a chat: a checkpoint at every compaction and at its end, told again when it resumes."""

from __future__ import annotations

from clew.log import PROGRESS
from clew.memory import Memory
from clew.request.progress_log import (
    Checkpoint,
    as_text,
    checkpoint_to_json,
    checkpoints,
    next_checkpoint,
    progress_piece,
)
from clew.request.sections import Piece
from clew.session import Session


class Progressed:
    """Keeps the checkpoints of one session, and on record."""

    def __init__(self, session: Session, memory: Memory) -> None:
        """Read those that were taken before: a session that has some is one that goes on."""
        self._session = session
        self._memory = memory
        self._past = checkpoints(session.store.read(session.ctx, kinds=[PROGRESS.name]))
        self._before = tuple(self._past)

    def take(self, why: str) -> None:
        """Take a checkpoint, where anything happened since the last."""
        taken = self._next(why)
        if taken:
            self._session.record(PROGRESS.name, checkpoint_to_json(taken))
            self._past.append(taken)

    def _next(self, why: str) -> Checkpoint | None:
        return next_checkpoint(self._session.ledger, self._past, time=self._memory.now, why=why)

    def piece(self) -> Piece | None:
        """Return what a session that goes on is told; what came since it was opened, its turns tell."""
        return progress_piece(self._before)

    def text(self) -> str:
        """Return all of it for people, with where the work stands now as the last."""
        now = self._next("now")
        return "\n\n".join(map(as_text, [*self._past, *([now] if now else [])]))
