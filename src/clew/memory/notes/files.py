"""The agent's memory files as a fold of events: the current files, and every earlier version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from clew.errors import StoreDamaged
from clew.log import digest
from clew.log.protocol import StoredEvent
from clew.message import JsonObject

Path: TypeAlias = tuple[str, ...]
"""The names below the root, from the top; empty for the root itself."""


class Version(NamedTuple):
    """A file as it was from some event on."""

    seq: int
    time: str
    does: str
    """``create``, ``str_replace``, ``insert``, ``rename``, ``delete`` or ``clear``."""
    path: str
    """Its path then, below the root."""
    text: str | None
    """None if it was deleted."""

    @property
    def sha256(self) -> str | None:
        """Return the hash of its bytes."""
        return None if self.text is None else digest(self.text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Files:
    """Directories and files, with their versions."""

    texts: Mapping[Path, str] = field(default_factory=lambda: MappingProxyType({}))
    directories: frozenset[Path] = frozenset({()})
    versions: Mapping[Path, tuple[Version, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """By current or last path; a moved file keeps its versions."""

    def exists(self, path: Path) -> bool:
        """Return True if there is a file or directory at a path."""
        return path in self.texts or path in self.directories

    def below(self, directory: Path) -> list[Path]:
        """Return the direct children of a directory, by name."""
        depth = len(directory) + 1
        every = (*self.texts, *self.directories)
        return sorted(path for path in every if len(path) == depth and path[:-1] == directory)


NO_FILES = Files()


def written(does: str, path: Path, text: str) -> JsonObject:
    """Return the event body for a file's new text."""
    return {"does": does, "path": "/".join(path), "text": text}


def removed(path: Path) -> JsonObject:
    """Return the event body for a deletion."""
    return {"does": "delete", "path": "/".join(path)}


def moved(path: Path, to: Path) -> JsonObject:
    """Return the event body for a move."""
    return {"does": "rename", "path": "/".join(path), "to": "/".join(to)}


CLEARED: JsonObject = {"does": "clear", "path": ""}


def fold_files(events: Iterable[StoredEvent], files: Files = NO_FILES) -> Files:
    """Replay events into files, starting from earlier ones, which are not changed."""
    shelf = _Shelf(files)
    for stored in events:
        shelf.take(stored)
    return shelf.files()


class _Shelf:
    """The mutable state during a replay."""

    def __init__(self, files: Files) -> None:
        self.texts = dict(files.texts)
        self.directories = set(files.directories)
        self.versions = dict(files.versions)

    def files(self) -> Files:
        """Return the current state."""
        return Files(
            MappingProxyType(self.texts), frozenset(self.directories), MappingProxyType(self.versions)
        )

    def take(self, stored: StoredEvent) -> None:
        """Apply an event."""
        match stored.event.body:
            case {"does": "create" | "str_replace" | "insert", "path": str(path), "text": str(text)}:
                self._write(stored, _path(path), text)
            case {"does": "delete" | "clear", "path": str(path)}:
                self._remove(stored, _path(path))
            case {"does": "rename", "path": str(path), "to": str(to)}:
                self._move(stored, _path(path), _path(to))
            case body:
                raise StoreDamaged(f"unknown action on a memory file: {body.get('does')!r}")

    def _write(self, stored: StoredEvent, path: Path, text: str) -> None:
        self._make_room(path)
        self.texts[path] = text
        self._remember(stored, path, text)

    def _remove(self, stored: StoredEvent, path: Path) -> None:
        for gone in _at_or_below(self.texts, path):
            del self.texts[gone]
            self._remember(stored, gone, None)
        self.directories = {one for one in self.directories if not one or one[: len(path)] != path}

    def _move(self, stored: StoredEvent, path: Path, to: Path) -> None:
        self._make_room(to)
        for old in _at_or_below(self.texts, path):
            new = to + old[len(path) :]
            self.texts[new] = self.texts.pop(old)
            # Keep the versions of a file deleted here earlier, then add those of the moved file.
            self.versions[new] = (*self.versions.get(new, ()), *self.versions.pop(old, ()))
            self._remember(stored, new, self.texts[new])
        for old in [one for one in self.directories if one[: len(path)] == path]:
            self.directories.discard(old)
            self.directories.add(to + old[len(path) :])

    def _make_room(self, path: Path) -> None:
        self.directories.update(path[:depth] for depth in range(len(path)))

    def _remember(self, stored: StoredEvent, path: Path, text: str | None) -> None:
        does = str(stored.event.body["does"])
        version = Version(stored.seq, stored.event.time, does, "/".join(path), text)
        self.versions[path] = (*self.versions.get(path, ()), version)


def _at_or_below(texts: Mapping[Path, str], path: Path) -> list[Path]:
    return sorted(one for one in texts if one[: len(path)] == path)


def _path(text: str) -> Path:
    return tuple(text.split("/")) if text else ()
