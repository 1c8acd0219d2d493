"""Instruction files of the project that a chat works on: some from the start, some once it goes there."""

from __future__ import annotations

from pathlib import Path

from clew.context.instructions import Disk, Loaded, Roots, changes, load, pieces_of, settled
from clew.context.piece import Piece
from clew.log import INSTRUCTION
from clew.session import Session


class Instructed:
    """Keeps the instructions in force, and on record. Without a root there are none."""

    def __init__(self, session: Session, root: Path | None, *, trusted: bool) -> None:
        """Read what is in force now. A root that nobody trusts is a stranger's: its files are only data."""
        self._session = session
        self._roots = Roots(project=root.resolve().as_posix(), trusted=trusted) if root else None
        self.loaded = Loaded()
        self._settled: frozenset[str] = frozenset()
        if self._roots:
            self.refresh()
            self._settled = settled(session.events())

    def refresh(self) -> None:
        """Look again at what is in force: where files were touched, those of their folders are too."""
        if self._roots is None:
            return
        touched = [file.name for file in self._session.ledger.artifacts.files]
        found = load(Disk(), self._roots, touched)
        for body in changes(self.loaded, found):
            self._session.record(INSTRUCTION.name, body)
        self.loaded = found

    def settle(self) -> None:
        """Take all that is in force into the stable part: a compaction has rewritten that anyway."""
        self.refresh()
        self._settled = frozenset(one.id for one in self.loaded.instructions)

    def pieces(self) -> list[Piece]:
        """Return them as pieces of a request."""
        return pieces_of(self.loaded, self._settled)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what they are called."""
        return tuple(one.label for one in self.loaded.instructions)
