"""List and read the files of a folder that can be documents: regular, readable, inside it, not too large."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from clew.request.knowledge.pieces import SUFFIXES

LARGEST = 1_000_000
"""Bytes of a document; a larger file is treated as data (chosen by hand)."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Do not follow a link, and do not block on a pipe."""
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "dist", "build", "target"})
_HIDDEN_BUT_READ = frozenset({".claude", ".cursor", ".github"})


class File(NamedTuple):
    """A file and its state on disk."""

    path: str
    """Relative to the root, with slashes."""
    size: int
    modified_ns: int


def files_of(root: Path) -> Iterator[File]:
    """Yield the files that can be documents, in order; links are never followed."""
    for folder, names, found in os.walk(root, followlinks=False):
        names[:] = sorted(name for name in names if _is_entered(name))
        for name in sorted(found):
            path = Path(folder, name)
            if path.suffix.lower() not in SUFFIXES or path.is_symlink():
                continue
            state = path.stat()
            if state.st_size <= LARGEST:
                yield File(path.relative_to(root).as_posix(), state.st_size, state.st_mtime_ns)


def _is_entered(name: str) -> bool:
    hidden = name.startswith(".") and name not in _HIDDEN_BUT_READ
    return not hidden and name not in _PASSED_OVER


def read_text(root: Path, path: str) -> str | None:
    """Return a document's text; None if it is binary, unreadable, too large or replaced by a link."""
    file = root / path
    try:
        if not file.parent.resolve().is_relative_to(root.resolve()):
            return None
        with os.fdopen(os.open(file, os.O_RDONLY | _NO_LINK), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return None
            data = opened.read(LARGEST + 1)
    except OSError:
        return None
    if len(data) > LARGEST:
        return None
    return None if b"\0" in data else data.decode("utf-8", "replace")
