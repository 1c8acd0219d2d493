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

OWN = "this session wrote it and it is not trusted; /trust FILE trusts it"


class InstructionTracker:
    """The instruction files in force; changes are recorded. Without a root there are none.

    All files are read when a chat opens and at each compaction. In between, only files of newly touched
    folders are added. A file that the session itself wrote is not used until a person trusts it: otherwise a
    model could give itself instructions.
    """

    def __init__(self, session: Session, root: Path | None, *, trusted: bool) -> None:
        """Read the files in force now. Files of an untrusted root are only data."""
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
        """Add the files of newly touched folders; those already in force are not read again."""
        found = self._found()
        new = [
            one
            for one in found.instructions
            if self.loaded.get(one.id) is None and (one.scope is Scope.FOLDER or one.patterns)
        ]
        self._take(Loaded((*self.loaded.instructions, *new), found.refused))

    def settle(self) -> None:
        """Read all files again into the stable part, which a compaction has rewritten anyway."""
        self._take(self._found())
        self._settled = frozenset(one.id for one in self.loaded.instructions)

    def trust(self, path: str) -> None:
        """Trust a file that the session wrote, with its current content only."""
        if self.root is None or self._roots is None:
            raise InputError("this chat has no root", "begin it with --root")
        place = inside(self.root, path).as_posix()
        there = load(Disk(), self._roots, self._touched())
        hashes = {where: sha for one in there.instructions for where, sha in _files_of(one)}
        if place not in hashes:
            raise InputError(f"{path!r} is not an instruction file here", "name one, such as AGENTS.md")
        self.approvals.trust_file(place, hashes[place])
        self._take(self._found())

    def holds(self, path: str) -> bool:
        """Return whether a file is one of the instructions in force, or included by one."""
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
        """Return the files that would be in force now; of untrusted own files, the earlier version."""
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
        """Yield the files below the root that the session changed or was allowed to change."""
        if self.root is None:
            return
        for name in (*(one.name for one in self._session.ledger.artifacts.changed), *self.approvals.places):
            with suppress(InputError):
                yield inside(self.root, name).as_posix()

    def pieces(self) -> list[Piece]:
        """Return the instructions as pieces of a request."""
        return pieces_of(self.loaded, self._settled)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the instructions."""
        return tuple(one.label for one in self.loaded.instructions)


def _files_of(one: Instruction) -> Iterator[tuple[str, str]]:
    """Yield the files of an instruction, includes too, each with its hash."""
    yield one.path, one.sha256
    yield from one.includes


class ProgressTracker:
    """The progress checkpoints of one session: taken at each compaction and at the end of a chat."""

    def __init__(self, session: Session, memory: Memory) -> None:
        """Read the earlier checkpoints; they are shown to the model when a session is resumed."""
        self._session = session
        self._memory = memory
        self._past = checkpoints(session.store.read(session.ctx, kinds=[PROGRESS.name]))
        self._before = tuple(self._past)

    def take(self, why: str) -> None:
        """Record a checkpoint if anything happened since the last one."""
        taken = self._next(why)
        if taken:
            self._session.record(PROGRESS.name, checkpoint_to_json(taken))
            self._past.append(taken)

    def _next(self, why: str) -> Checkpoint | None:
        return next_checkpoint(self._session.ledger, self._past, time=self._memory.now, why=why)

    def piece(self) -> Piece | None:
        """Return the checkpoints from before this chat was opened, as a piece of a request."""
        return progress_piece(self._before)

    def text(self) -> str:
        """Return all checkpoints as text, ending with the current state."""
        now = self._next("now")
        return "\n\n".join(map(as_text, [*self._past, *([now] if now else [])]))
