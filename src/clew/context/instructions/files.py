"""What the loader asks of a file system."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class FileKind(StrEnum):
    """What stands at a path."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    """A symbolic link, wherever it leads."""
    OTHER = "other"
    """A pipe, a device, a socket, or something that may not be looked at."""
    MISSING = "missing"


class Files(Protocol):
    """A file system, by absolute paths with forward slashes. Nothing here raises for what is not there."""

    def kind(self, path: str) -> FileKind:
        """Return what stands at a path, without following a link there."""

    def size(self, path: str) -> int:
        """Return the bytes of a file; 0 for anything else."""

    def read(self, path: str, most_bytes: int) -> bytes | None:
        """Return the content of a plain file, at most so many bytes; None where it cannot be read."""

    def listed(self, path: str) -> list[str]:
        """Return the names in a folder, sorted; none where it is no folder."""
