"""State that a chat keeps up to date: the instruction files in force and the progress log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from clew.chat.approvals import Approvals, folded
from clew.chat.paths import inside
from clew.errors import InputError
from clew.log import INSTRUCTION, PROGRESS
from clew.memory import Memory
from clew.request.instructions import (
    Disk,
    Instruction,
    Loaded,
    Refused,
    Roots,
    Scope,
    changes,
    load,
    pieces_of,
    settled,
)
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

OWN = "this session wrote it, and nobody said that it counts; /trust says so"


class InstructionTracker:
    """Keeps the instructions in force, and on record. Without a root there are none."""

    def __init__(self, session: Session, root: Path | None, *, trusted: bool) -> None:
        """Read what is in force now. A root that nobody trusts is a stranger's: its files are only data."""
        self._session = session
        self.root = root
        self.approvals = Approvals(session, root)
        self._roots = Roots(project=root.resolve().as_posix(), trusted=trusted) if root else None
        self.loaded = Loaded()
        self._settled: frozenset[str] = frozenset()
        if self._roots:
            self._take(self._found())
            self._settled = settled(session.events())

    def refresh(self) -> None:
        """Take in the files of folders that were touched since; what is in force stays as it was read."""
        found = self._found()
        new = [
            one
            for one in found.instructions
            if self.loaded.get(one.id) is None and (one.scope is Scope.FOLDER or one.patterns)
        ]
        self._take(Loaded((*self.loaded.instructions, *new), found.refused))

    def settle(self) -> None:
        """Read all anew, and into the stable part: a compaction has rewritten that anyway."""
        self._take(self._found())
        self._settled = frozenset(one.id for one in self.loaded.instructions)

    def trust(self, path: str) -> None:
        """Let a file that the session wrote count from now on, with just the words that it has now."""
        if self.root is None or self._roots is None:
            raise InputError("this chat has no root", "begin it with --root")
        place = inside(self.root, path).as_posix()
        there = load(Disk(), self._roots, self._touched())
        hashes = {where: sha for one in there.instructions for where, sha in _files_of(one)}
        if place not in hashes:
            raise InputError(f"{path!r} is no instruction file here", "name one, such as AGENTS.md")
        self.approvals.trust_file(place, hashes[place])
        self._take(self._found())

    def holds(self, path: str) -> bool:
        """Tell whether a file is among the instructions in force, or one that they include."""
        if self.root is None:
            return False
        with suppress(InputError):
            place = folded(inside(self.root, path).as_posix())
            return any(
                place == folded(where) for one in self.loaded.instructions for where, _ in _files_of(one)
            )
        return False

    def _take(self, found: Loaded) -> None:
        for body in changes(self.loaded, found):
            self._session.record(INSTRUCTION.name, body)
        self.loaded = found

    def _found(self) -> Loaded:
        """Return what would be in force if it were read now; of what the session wrote, as it was before."""
        if self._roots is None:
            return Loaded()
        found = load(Disk(), self._roots, self._touched())
        own = {folded(file) for file in self._written()}
        kept: list[Instruction] = []
        refused = list(found.refused)
        for one in found.instructions:
            if all(
                folded(file) not in own or self.approvals.counts(file, sha) for file, sha in _files_of(one)
            ):
                kept.append(one)
                continue
            refused.append(Refused(one.path, OWN))
            before = self.loaded.get(one.id)
            kept += [before] if before else []
        return Loaded(tuple(kept), tuple(refused))

    def _touched(self) -> list[str]:
        return [file.name for file in self._session.ledger.artifacts.files]

    def _written(self) -> Iterator[str]:
        """Yield the files below the root that the session changed, or was allowed to change."""
        if self.root is None:
            return
        for name in (*(one.name for one in self._session.ledger.artifacts.changed), *self.approvals.places):
            with suppress(InputError):
                yield inside(self.root, name).as_posix()

    def pieces(self) -> list[Piece]:
        """Return them as pieces of a request."""
        return pieces_of(self.loaded, self._settled)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what they are called."""
        return tuple(one.label for one in self.loaded.instructions)


def _files_of(one: Instruction) -> Iterator[tuple[str, str]]:
    """Yield the files that an instruction is made of, each with its hash."""
    yield one.path, one.sha256
    yield from one.includes


class ProgressTracker:
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
