"""A file system in memory: what a test says is there, links and pipes included."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from clew.request.instructions.files import FileKind


@dataclass(frozen=True)
class Folders:
    """Files by their path; a kind in place of bytes is that kind."""

    held: dict[str, str | bytes | FileKind]

    def kind(self, path: str) -> FileKind:
        value = self.held.get(path)
        if value is None:
            below = path.rstrip("/") + "/"
            return FileKind.FOLDER if any(one.startswith(below) for one in self.held) else FileKind.MISSING
        return value if isinstance(value, FileKind) else FileKind.FILE

    def size(self, path: str) -> int:
        return len(self._bytes(path) or b"")

    def read(self, path: str, most_bytes: int) -> bytes | None:
        content = self._bytes(path)
        return None if content is None else content[:most_bytes]

    def listed(self, path: str) -> list[str]:
        below = path.rstrip("/") + "/"
        return sorted({one[len(below) :].split("/")[0] for one in self.held if one.startswith(below)})

    def _bytes(self, path: str) -> bytes | None:
        value = self.held.get(posixpath.normpath(path))
        if isinstance(value, FileKind) or value is None:
            return None
        return value if isinstance(value, bytes) else value.encode()
