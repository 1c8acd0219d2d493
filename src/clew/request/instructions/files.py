"""Where instructions may come from and where not, and the file system they are read from.

``why_not("/p/vendor/x/AGENTS.md", "/p", files)`` is "it is in vendor, which holds third-party files: …". A
link in the last component of a path is never followed; ``why_not`` checks the other components.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol
from unicodedata import normalize

from clew.message import Trust
from clew.settings import clew_home


class FileKind(StrEnum):
    """What is at a path."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    """A symbolic link, whatever its target."""
    OTHER = "other"
    """A pipe, device or socket, or something unreadable."""
    MISSING = "missing"


class FileSource(Protocol):
    """A file system addressed by absolute paths with forward slashes. No method raises for a missing path."""

    def kind(self, path: str) -> FileKind:
        """Return what is at a path, without following a link there."""

    def size(self, path: str) -> int:
        """Return the bytes of a file; 0 for anything else."""

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return the content of a plain file, at most ``most_bytes``; None if it cannot be read."""

    def listed(self, path: str) -> list[str]:
        """Return the names in a folder, sorted; empty if it is not a folder."""


class InstructionScope(StrEnum):
    """How widely an instruction applies, from the widest to the narrowest."""

    GLOBAL = "global"
    ORGANIZATION = "organization"
    PROJECT = "project"
    FOLDER = "folder"
    TASK = "task"


SCOPE_TRUST = {
    InstructionScope.GLOBAL: Trust.USER,
    InstructionScope.ORGANIZATION: Trust.DEVELOPER,
    InstructionScope.PROJECT: Trust.USER,
    InstructionScope.FOLDER: Trust.USER,
    InstructionScope.TASK: Trust.USER,
}

FOREIGN_FOLDERS = frozenset(
    {
        *("node_modules", "bower_components", "vendor", "third_party", "third-party", "external"),
        *("site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox", "__pycache__"),
        *(".git", ".hg", ".svn", ".cache", ".cargo", ".npm", ".yarn", ".pnpm-store"),
        *("dist", "build", "target", "downloads", ".trash", "tmp", "temp"),
    }
)
"""Folders with content from third parties, put there by a program: data, never instructions."""
_OPEN_DOT_FOLDERS = frozenset({".claude", ".clew", ".gemini", ".codex", ".agents", ".github", ".config"})
"""Dot folders that hold documents. Other hidden names, such as ``.env`` and ``.ssh``, are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """The folders that the user trusts to hold instructions: absolute, real paths with forward slashes."""

    project: str | None = None
    trusted: bool = True
    """Whether the user trusts the project. If not, nothing in it becomes an instruction."""
    everywhere: tuple[str, ...] = ()
    """The user's own folders, such as ``~/.claude`` and clew's home."""
    organization: tuple[str, ...] = ()
    """Folders maintained by an administrator, such as ``/etc/clew``."""
    home: str | None = None
    """What ``~`` means in an include."""

    def all(self) -> Iterator[tuple[InstructionScope, str]]:
        """Yield every root with its scope, the widest first."""
        yield from ((InstructionScope.GLOBAL, root) for root in self.everywhere)
        yield from ((InstructionScope.ORGANIZATION, root) for root in self.organization)
        if self.project is not None:
            yield InstructionScope.PROJECT, self.project


def is_inside(path: str, root: str) -> bool:
    """Return True if a normalized path is a root or lies under it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def components_below(path: str, root: str) -> list[str]:
    """Return the components of a path below its root."""
    relative = posixpath.relpath(path, root)
    return [] if relative == "." else relative.split("/")


def why_not(path: str, root: str, files: FileSource) -> str:
    """Return why a file may not become an instruction; empty if it may.

    Every component below the root is checked, because a link in any of them could lead out of it.
    """
    if not is_inside(path, root):
        return f"it is outside {root}"
    parts = components_below(path, root)
    if foreign := next((part for part in parts[:-1] if part.lower() in FOREIGN_FOLDERS), None):
        return f"it is in {foreign}, which holds third-party files: data, never instructions"
    dotted = (part for part in parts if part.startswith("."))
    if hidden := next((part for part in dotted if part not in _OPEN_DOT_FOLDERS), None):
        return f"{hidden} is hidden; hidden files often hold secrets"
    return why_not_followed(path, root, files)


def why_not_followed(path: str, root: str, files: FileSource) -> str:
    """Return why a path below a root leads out of it or to no file: a link, another repository; or empty."""
    parts = components_below(path, root)
    return next(
        filter(None, (_step_why_not(root, parts, depth, files) for depth in range(1, len(parts) + 1))), ""
    )


def _step_why_not(root: str, parts: Sequence[str], depth: int, files: FileSource) -> str:
    """Return what is wrong with one component of a path."""
    name = posixpath.join(*parts[:depth])
    kind = files.kind(f"{root}/{name}")
    if kind is FileKind.LINK:
        return f"{name} is a symbolic link"
    if depth < len(parts):
        own = files.kind(f"{root}/{name}/.git") is not FileKind.MISSING
        return f"{name} is a separate repository, not marked as trusted" if own else ""
    if kind is FileKind.FILE:
        return ""
    return _NO_FILE[kind]


_NO_FILE = {
    FileKind.FOLDER: "it is not a regular file but a folder",
    FileKind.OTHER: "it is not a regular file, or cannot be read",
    FileKind.MISSING: "it does not exist",
}


def fold_path(path: str) -> str:
    """Return a path in a form in which two names of one file are equal on any file system."""
    return normalize("NFC", path).casefold()


def folders_touched(paths: Iterable[str], root: str) -> list[str]:
    """Return the folders below a root that contain these paths, outer folders first, each once."""
    result: dict[str, None] = {}
    for path in paths:
        full = posixpath.normpath(posixpath.join(root, path.replace("\\", "/")))
        if not is_inside(full, root):
            continue
        parts = components_below(full, root)[:-1]
        for depth in range(1, len(parts) + 1):
            result[posixpath.join(root, *parts[:depth])] = None
    return sorted(result, key=lambda folder: (folder.count("/"), folder))


OWN_FOLDERS = (".claude", ".codex", ".gemini")
ORGANIZATION_FOLDERS = ("/etc/clew", "/etc/claude-code", "/etc/codex")


def usual_roots(project: Path | None, *, trusted: bool) -> Roots:
    """Return the usual folders of instructions: clew's, those of other tools, and a project.

    Whether the project is trusted is the user's decision, never the project's.
    """
    home = Path.home().resolve()  # as the roots, else an include below ``~`` is outside all of them
    own_paths = (clew_home(), *(home / name for name in OWN_FOLDERS))
    return Roots(
        project=project.resolve().as_posix() if project else None,
        trusted=trusted,
        everywhere=tuple(folder.resolve().as_posix() for folder in own_paths),
        organization=ORGANIZATION_FOLDERS,
        home=home.as_posix(),
    )


class Disk:
    """The files of this computer; implements ``FileSource``."""

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
