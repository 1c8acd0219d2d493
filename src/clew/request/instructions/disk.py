"""The real file system, and the folders on it that usually hold instructions.

A link in the last component of a path is never followed; the loader checks the other components.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from clew.request.instructions.files import FileKind
from clew.request.instructions.places import Roots
from clew.settings import clew_home

OWN_FOLDERS = (".claude", ".codex", ".gemini")
ORGANIZATION_FOLDERS = ("/etc/clew", "/etc/claude-code", "/etc/codex")


def usual_roots(project: Path | None, *, trusted: bool) -> Roots:
    """Return the usual folders of instructions: clew's, those of other tools, and a project.

    Whether the project is trusted is the user's decision, never the project's.
    """
    home = Path.home()
    own = (clew_home(), *(home / name for name in OWN_FOLDERS))
    return Roots(
        project=project.resolve().as_posix() if project else None,
        trusted=trusted,
        everywhere=tuple(folder.resolve().as_posix() for folder in own),
        organization=ORGANIZATION_FOLDERS,
        home=home.as_posix(),
    )


class Disk:
    """The files of this computer; implements ``Files``."""

    def kind(self, path: str) -> FileKind:
        """Return what is at a path, without following a link there."""
        try:
            mode = Path(path).lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return FileKind.MISSING
        except (OSError, ValueError):  # no permission, a name too long, a NUL in it
            return FileKind.OTHER
        if stat.S_ISLNK(mode):
            return FileKind.LINK
        if stat.S_ISDIR(mode):
            return FileKind.FOLDER
        return FileKind.FILE if stat.S_ISREG(mode) else FileKind.OTHER

    def size(self, path: str) -> int:
        """Return the bytes of a file; 0 for anything else."""
        try:
            return Path(path).lstat().st_size if self.kind(path) is FileKind.FILE else 0
        except OSError:
            return 0

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return the content of a plain file, at most ``most_bytes``; None if it cannot be read."""
        try:
            # Do not follow a link or block on a pipe that replaced the file since it was checked.
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except (OSError, ValueError):
            return None
        try:
            plain = stat.S_ISREG(os.fstat(handle).st_mode)
            return os.read(handle, most_bytes) if plain else None
        except OSError:
            return None
        finally:
            os.close(handle)

    def listed(self, path: str) -> list[str]:
        """Return the names in a folder, sorted; empty if it is not a folder."""
        try:
            return sorted(entry.name for entry in os.scandir(path))
        except (OSError, ValueError):
            return []
