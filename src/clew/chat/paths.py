"""File access below a root that cannot be left by ``..``, an absolute path, or a soft or hard link.

A path is resolved first, links included, and checked. Then it is opened from the root folder by folder
without following links, so a link that is created in between has no effect.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from clew.errors import InputError, NotFound

SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".mypy_cache"})
"""Folders that are not listed or searched: their content is generated or third-party."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
_WALKS = os.open in os.supports_dir_fd
"""Whether this system can open files relative to a folder; otherwise whole paths are used."""


def resolve_inside(root: Path, path: str) -> Path:
    """Resolve a path given by the model; raise ``InputError`` if it is outside the root."""
    base = root.resolve()
    try:
        place = (base / path).resolve()
    except (OSError, RuntimeError, ValueError) as cause:  # a loop of links, a null character
        raise InputError(f"{path!r} is not a valid path ({cause})", "name a file below the root") from cause
    if not place.is_relative_to(base):
        raise InputError(f"{path!r} is not below {base.name}/", "name a file below the root")
    return place


def relative_name(root: Path, place: Path) -> str:
    """Return the path of a file relative to the root."""
    return place.relative_to(root.resolve()).as_posix() or "."


class _Spot(NamedTuple):
    """A name in an open folder; without a folder, the name is a whole path."""

    name: str
    folder: int | None

    def stat(self) -> os.stat_result | None:
        """Return the status of the entry itself, not of a link's target; None if nothing is there."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, flags: int, mode: int = 0o600) -> int:
        return os.open(self.name, flags, mode, dir_fd=self.folder)


@contextmanager
def _spot(root: Path, place: Path, *, make: bool = False) -> Iterator[_Spot]:
    """Open the folder of a path that was checked by ``resolve_inside``; ``make`` creates missing folders."""
    base = root.resolve()
    if not _WALKS:
        if make:
            place.parent.mkdir(parents=True, exist_ok=True)
        yield _Spot(str(place), None)
        return
    *folders, name = place.relative_to(base).parts or (".",)
    at = os.open(base, _FOLDER)
    try:
        for folder in folders:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(folder, dir_fd=at)
            below = os.open(folder, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        yield _Spot(name, at)
    finally:
        os.close(at)


@contextmanager
def open_regular(root: Path, path: str) -> Iterator[BinaryIO]:
    """Open a regular file for reading."""
    place = resolve_inside(root, path)
    if not place.exists():
        raise NotFound(f"there is no {path!r}", "list_files lists the files")
    if not place.is_file():
        raise InputError(f"{path!r} is not a regular file", "list_files lists a folder")
    with _spot(root, place) as spot, os.fdopen(spot.open(_READ), "rb") as file:
        # The file may have been replaced by a pipe since the check above.
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path!r} is not a regular file", "name another")
        if status.st_nlink > 1:
            raise InputError(f"{path!r} has hard links, perhaps outside the root", "copy it, read the copy")
        yield file


def read_bytes(root: Path, path: str, most: int) -> bytes:
    """Return the first bytes of a regular file."""
    with open_regular(root, path) as file:
        return file.read(most)


def write_text(root: Path, path: str, text: str) -> bool:
    """Write a file atomically; return whether it existed before."""
    content = text.encode()  # raises before anything is written
    with _spot(root, resolve_inside(root, path), make=True) as spot:
        before = spot.stat()
        if before and not stat.S_ISREG(before.st_mode):
            raise InputError(f"{path!r} is not a regular file", "name another")
        mode = stat.S_IMODE(before.st_mode) if before else 0o644
        full_path = Path(spot.name)
        draft = spot._replace(name=str(full_path.with_name(f".{full_path.name}.clew-{os.getpid()}")))
        try:
            with os.fdopen(draft.open(_DRAFT, mode), "wb") as file:
                file.write(content)
            os.replace(draft.name, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft.name, dir_fd=spot.folder)
    return before is not None


class FolderEntry(NamedTuple):
    """An entry of a folder."""

    name: str
    mode: int
    size: int


def list_folder(root: Path, path: str) -> list[FolderEntry]:
    """Return the entries of a folder by name; links are not followed."""
    place = resolve_inside(root, path)
    if not place.is_dir():
        raise InputError(f"{path!r} is not a folder", "read_file shows a file")
    with _spot(root, place) as spot:
        handle = spot.open(_FOLDER) if spot.folder is not None else None
        try:
            with os.scandir(spot.name if handle is None else handle) as scandir_iterator:
                entries = [(entry.name, entry.stat(follow_symlinks=False)) for entry in scandir_iterator]
        finally:
            if handle is not None:
                os.close(handle)
    return sorted(FolderEntry(name, at.st_mode, at.st_size) for name, at in entries if name not in SKIPPED)


def walk_files(root: Path, place: Path, missed: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Yield the regular files below a folder, sorted; links are not followed.

    ``missed`` is called for each file or folder that may not be looked at.
    """
    if place.is_file():
        yield place
        return
    base = root.resolve()
    for folder, names, files in os.walk(place, onerror=lambda _: missed(), followlinks=False):
        names[:] = sorted(name for name in names if name not in SKIPPED)
        for name in sorted(files):
            file = Path(folder, name)
            try:
                is_own = file.is_file() and file.stat().st_nlink == 1 and file.resolve().is_relative_to(base)
            except OSError:  # no permission, or it was deleted
                missed()
                continue
            if is_own:
                yield file
