"""State that a chat keeps up to date: the instruction files in force and the progress log."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from clew.chat.approvals import ApprovalStore
from clew.chat.paths import resolve_inside
from clew.errors import InputError
from clew.log import PROGRESS
from clew.request.instructions import Disk, load
from clew.request.instructions.files import fold_path
from clew.request.progress_log import as_text, checkpoints, progress_piece
from clew.request.sections import Piece
from clew.session import Session
from clew.session.request import InstructionFiles, files_of


class InstructionTracker(InstructionFiles):
    """The instruction files of a chat: a person can trust files that the session itself wrote."""

    def __init__(self, session: Session, root: Path | None, *, trusted: bool) -> None:
        """Read what is in force now. A root that the user does not trust has only data."""
        self.approvals = ApprovalStore(session, root)
        super().__init__(session, root, trusted=trusted)

    def trust(self, path: str) -> None:
        """Trust a file that the session wrote, with its current content only."""
        if self.root is None or self._roots is None:
            raise InputError("this chat has no root", "begin it with --root")
        place = resolve_inside(self.root, path).as_posix()
        loaded = load(Disk(), self._roots, self._touched_files())
        hashes = {where: sha for instruction in loaded.instructions for where, sha in files_of(instruction)}
        if place not in hashes:
            raise InputError(f"{path!r} is not an instruction file here", "name one, such as AGENTS.md")
        self.approvals.trust_file(place, hashes[place])
        self._take(self._load())

    def in_force(self, path: str) -> bool:
        """Return whether a file is one of the instructions in force, or included by one."""
        if self.root is None:
            return False
        with suppress(InputError):
            place = fold_path(resolve_inside(self.root, path).as_posix())
            return any(
                place == fold_path(where)
                for instruction in self.loaded.instructions
                for where, _ in files_of(instruction)
            )
        return False

    def _written_names(self) -> Iterable[str]:
        """Return the files that the session changed, or was allowed to change."""
        return (*super()._written_names(), *self.approvals.written_paths)

    def _is_trusted(self, path: str, sha256: str) -> bool:
        return self.approvals.trusts(path, sha256)


class ProgressTracker:
    """The progress checkpoints of one session: the session takes them, the chat shows them."""

    def __init__(self, session: Session) -> None:
        """Read the earlier checkpoints; they are shown to the model when a session is resumed."""
        self._session = session
        self._before = checkpoints(session.store.read(session.ctx, kinds=[PROGRESS.name]))

    def piece(self) -> Piece | None:
        """Return the checkpoints from before this chat was opened, as a piece of a request."""
        return progress_piece(self._before)

    def text(self) -> str:
        """Return all checkpoints as text, ending with the current state."""
        return "\n\n".join(map(as_text, self._session.progress()))
