"""Paths below a root, and no way out: not by ``..``, not by an absolute path, not by a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from clew.errors import InputError, NotFound

SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".mypy_cache"})
"""Folders that no listing or search goes into: what is in there is nobody's writing."""


def inside(root: Path, path: str) -> Path:
    """Return where a path of the model's leads; one that leads out of the root is an ``InputError``."""
    base = root.resolve()
    try:
        place = (base / path).resolve()
    except (OSError, RuntimeError, ValueError) as cause:  # a loop of links, a null character
        raise InputError(f"{path!r} is no path ({cause})", "name a file below the root") from cause
    if not place.is_relative_to(base):
        raise InputError(f"{path!r} leads out of {base.name}/", "name a file below the root")
    return place


def called(root: Path, place: Path) -> str:
    """Return what a place is called from the root."""
    return place.relative_to(root.resolve()).as_posix() or "."


def read_bytes(root: Path, path: str, most: int) -> bytes:
    """Return the beginning of an ordinary file."""
    place = inside(root, path)
    if not place.exists():
        raise NotFound(f"there is no {path!r}", "list_files shows what there is")
    if not place.is_file():
        raise InputError(f"{path!r} is no ordinary file", "list_files shows what is in a folder")
    # What was a file a moment ago may be a link by now; one is not followed.
    handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InputError(f"{path!r} is no ordinary file", "name another")
        return file.read(most)


def write_text(root: Path, path: str, text: str) -> bool:
    """Put a text in place of a file, all of it or nothing; tell whether there was one before."""
    place = inside(root, path)
    if place.exists() and not place.is_file():
        raise InputError(f"{path!r} is no ordinary file", "name another")
    there = place.exists()
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name}.clew-{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    mode = stat.S_IMODE(place.stat().st_mode) if there else 0o644
    try:
        with os.fdopen(os.open(draft, flags, mode), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
    return there


def files_below(root: Path, place: Path) -> Iterator[Path]:
    """Yield the ordinary files below a folder, sorted; links are not followed."""
    if place.is_file():
        yield place
        return
    base = root.resolve()
    for folder, names, files in os.walk(place, followlinks=False):
        names[:] = sorted(name for name in names if name not in SKIPPED)
        for name in sorted(files):
            file = Path(folder, name)
            if file.is_file() and file.resolve().is_relative_to(base):
                yield file
