"""The file system interface that the loader of instructions uses."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class FileKind(StrEnum):
    """What is at a path."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    """A symbolic link, whatever its target."""
    OTHER = "other"
    """A pipe, device or socket, or something unreadable."""
    MISSING = "missing"


class Files(Protocol):
    """A file system addressed by absolute paths with forward slashes. No method raises for a missing path."""

    def kind(self, path: str) -> FileKind:
        """Return what is at a path, without following a link there."""

    def size(self, path: str) -> int:
        """Return the bytes of a file; 0 for anything else."""

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return the content of a plain file, at most ``most_bytes``; None if it cannot be read."""

    def listed(self, path: str) -> list[str]:
        """Return the names in a folder, sorted; empty if it is not a folder."""
