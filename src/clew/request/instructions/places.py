"""Where instructions may come from, and where they may not."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from clew.message import Trust
from clew.request.instructions.files import FileKind, Files


class Scope(StrEnum):
    """How widely an instruction applies, from the widest to the narrowest."""

    GLOBAL = "global"
    ORGANIZATION = "organization"
    PROJECT = "project"
    FOLDER = "folder"
    TASK = "task"


SCOPE_TRUST = {
    Scope.GLOBAL: Trust.USER,
    Scope.ORGANIZATION: Trust.DEVELOPER,
    Scope.PROJECT: Trust.USER,
    Scope.FOLDER: Trust.USER,
    Scope.TASK: Trust.USER,
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

    def all(self) -> Iterator[tuple[Scope, str]]:
        """Yield every root with its scope, the widest first."""
        yield from ((Scope.GLOBAL, root) for root in self.everywhere)
        yield from ((Scope.ORGANIZATION, root) for root in self.organization)
        if self.project is not None:
            yield Scope.PROJECT, self.project


def inside(path: str, root: str) -> bool:
    """Return True if a normalized path is a root or lies under it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def within(path: str, root: str) -> list[str]:
    """Return the components of a path below its root."""
    relative = posixpath.relpath(path, root)
    return [] if relative == "." else relative.split("/")


def why_not(path: str, root: str, files: Files) -> str:
    """Return why a file may not become an instruction; empty if it may.

    Every component below the root is checked, because a link in any of them could lead out of it.
    """
    if not inside(path, root):
        return f"it is outside {root}"
    parts = within(path, root)
    if foreign := next((part for part in parts[:-1] if part.lower() in FOREIGN_FOLDERS), None):
        return f"it is in {foreign}, which holds third-party files: data, never instructions"
    if hidden := next((part for part in parts if _is_hidden(part)), None):
        return f"{hidden} is hidden; hidden files often hold secrets"
    return next(
        filter(None, (_step_why_not(root, parts, depth, files) for depth in range(1, len(parts) + 1))), ""
    )


def _step_why_not(root: str, parts: Sequence[str], depth: int, files: Files) -> str:
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
    return "it does not exist" if kind is FileKind.MISSING else f"it is not a regular file but a {kind.value}"


def _is_hidden(part: str) -> bool:
    return part.startswith(".") and part not in _OPEN_DOT_FOLDERS


def folders_touched(paths: Iterable[str], root: str) -> list[str]:
    """Return the folders below a root that contain these paths, outer folders first, each once."""
    found: dict[str, None] = {}
    for path in paths:
        full = posixpath.normpath(posixpath.join(root, path.replace("\\", "/")))
        if not inside(full, root):
            continue
        parts = within(full, root)[:-1]
        for depth in range(1, len(parts) + 1):
            found[posixpath.join(root, *parts[:depth])] = None
    return sorted(found, key=lambda folder: (folder.count("/"), folder))
