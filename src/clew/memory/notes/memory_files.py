"""The agent's memory files as a fold of events: current files, earlier versions, paths and listings.

``commands.py`` has the tool's commands; this file what they work on. ``resolve("/memories/a/b.md")`` is the
place ``("a", "b.md")``; a refusal is an ``InputError`` with exactly the text that the tool of Anthropic's SDK
answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from clew.errors import InputError, StoreDamaged
from clew.log import digest
from clew.log.protocol import StoredEvent
from clew.message import JsonObject
from clew.secrets import mask

Place: TypeAlias = tuple[str, ...]
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
class MemoryFileState:
    """Directories and files, with their versions."""

    texts: Mapping[Place, str] = field(default_factory=lambda: MappingProxyType({}))
    directories: frozenset[Place] = frozenset({()})
    versions: Mapping[Place, tuple[Version, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """By current or last path; a moved file keeps its versions."""

    def exists(self, path: Place) -> bool:
        """Return True if there is a file or directory at a path."""
        return path in self.texts or path in self.directories

    def below(self, directory: Place) -> list[Place]:
        """Return the direct children of a directory, by name."""
        depth = len(directory) + 1
        every = (*self.texts, *self.directories)
        return sorted(path for path in every if len(path) == depth and path[:-1] == directory)


NO_FILES = MemoryFileState()


def fold_files(events: Iterable[StoredEvent], files: MemoryFileState = NO_FILES) -> MemoryFileState:
    """Replay events into files, starting from earlier ones, which are not changed."""
    fold = _FileFold(files)
    for stored in events:
        fold.take(stored)
    return fold.files()


class _FileFold:
    """The mutable state during a replay."""

    def __init__(self, files: MemoryFileState) -> None:
        self.texts = dict(files.texts)
        self.directories = set(files.directories)
        self.versions = dict(files.versions)

    def files(self) -> MemoryFileState:
        """Return the current state."""
        return MemoryFileState(
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

    def _write(self, stored: StoredEvent, path: Place, text: str) -> None:
        self._add_parents(path)
        self.texts[path] = text
        self._remember(stored, path, text)

    def _remove(self, stored: StoredEvent, path: Place) -> None:
        for file in _at_or_below(self.texts, path):
            del self.texts[file]
            self._remember(stored, file, None)
        self.directories = {
            directory for directory in self.directories if not directory or directory[: len(path)] != path
        }

    def _move(self, stored: StoredEvent, path: Place, to: Place) -> None:
        self._add_parents(to)
        for old in _at_or_below(self.texts, path):
            new = to + old[len(path) :]
            self.texts[new] = self.texts.pop(old)
            # Keep the versions of a file deleted here earlier, then add those of the moved file.
            self.versions[new] = (*self.versions.get(new, ()), *self.versions.pop(old, ()))
            self._remember(stored, new, self.texts[new])
        for old in [directory for directory in self.directories if directory[: len(path)] == path]:
            self.directories.discard(old)
            self.directories.add(to + old[len(path) :])

    def _add_parents(self, path: Place) -> None:
        self.directories.update(path[:depth] for depth in range(len(path)))

    def _remember(self, stored: StoredEvent, path: Place, text: str | None) -> None:
        does = str(stored.event.body["does"])
        version = Version(stored.seq, stored.event.time, does, "/".join(path), text)
        self.versions[path] = (*self.versions.get(path, ()), version)


def _at_or_below(texts: Mapping[Place, str], path: Place) -> list[Place]:
    return sorted(file for file in texts if file[: len(path)] == path)


def _path(text: str) -> Place:
    return tuple(text.split("/")) if text else ()


ROOT = "/memories"
MOST_LINES = 999_999
LINE_NUMBER_WIDTH = 6
"""Most lines of a file, so that a line number fits into its column, which is as wide as models know it."""
DIRECTORY_BYTES = 4_096
"""The size of a directory on most disks, and in the listings that models know."""
FILE_BYTES = 1_000_000
"""Most bytes of one file, because every version of it is kept (chosen by hand)."""
NAME_BYTES = 255
"""Most bytes of a file name, as on most disks."""
MOST_PLACES = 1_000
"""Most line numbers in a refusal."""


def refusal(detail: str) -> InputError:
    """Return an error with exactly the memory tool's message, because a model reads it."""
    return InputError(detail, advice="")


# Paths -----------------------------------------------------------------------------------------------


def resolve(path: str) -> Place:
    """Return the place of a path below the root; refuse a path that leads outside.

    Nothing is decoded: ``%2e%2e`` is an ordinary name. ``/memories-old/x`` is ``/memories/-old/x``, as in the
    file back end of Anthropic's SDK, whose answers models know.
    """
    if not path.startswith(ROOT):
        raise refusal(f"Path must start with {ROOT}, got: {path}")
    names = [ROOT.strip("/")]
    for name in path.removeprefix(ROOT).split("/"):
        if name == "..":
            if not names:
                raise refusal(f"Path {path} would escape {ROOT} directory")
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    if not names or names[0] != ROOT.strip("/"):
        raise refusal(f"Path {path} would escape {ROOT} directory")
    if "\0" in path or any(len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES for name in names):
        raise refusal(f"The path {path!r} contains an invalid file name")
    return tuple(names[1:])


def require_directory(files: MemoryFileState, place: Place, path: str) -> None:
    """Refuse a place below a file."""
    if any(place[:depth] in files.texts for depth in range(1, len(place))):
        raise refusal(f"The path {path} leads through a file")


# Texts -----------------------------------------------------------------------------------------------


def text_of(files: MemoryFileState, place: Place, path: str) -> str:
    """Return the text of an existing file."""
    text = files.texts.get(place)
    if text is None:
        raise refusal(f"The path {path} does not exist. Please provide a valid path.")
    return text


def file_of(files: MemoryFileState, place: Place, path: str) -> str:
    """Return the text of a file to edit; refuse a directory."""
    if place in files.directories:
        raise refusal(f"The path {path} is not a file.")
    return text_of(files, place, path)


def written_text(does: str, place: Place, text: str) -> JsonObject:
    """Return the event body for a file's new text, secrets masked; refuse a file that is too large."""
    weight = size_bytes(text)
    if weight > FILE_BYTES:
        raise refusal(f"A memory file takes at most {FILE_BYTES:,} bytes, this one would have {weight:,}")
    return {"does": does, "path": "/".join(place), "text": mask(text).text}


def require_once(text: str, old: str, path: str) -> None:
    """Refuse a text that does not occur, or occurs more than once; as in the SDK, overlaps count once."""
    count = text.count(old)
    if count == 0:
        raise refusal(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if count > 1:
        lines = ", ".join(map(str, islice(_lines_of(text, old), MOST_PLACES)))
        raise refusal(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )


def _lines_of(text: str, wanted: str) -> Iterator[int]:
    """Yield the line number of each occurrence of a text, overlapping ones included."""
    line, counted, at = 1, 0, text.find(wanted)
    while at != -1:
        line += text.count("\n", counted, at)
        counted = at
        yield line
        at = text.find(wanted, at + 1)


def context_lines(text: str, old: str, new: str) -> str:
    """Return the lines around a replacement: two before it and two after."""
    at = text.count("\n", 0, text.find(old))
    lines = text.replace(old, new).split("\n")
    first = max(0, at - 2)
    return number_lines(lines[first : at + 3], first + 1)


def number_lines(lines: Sequence[str], first: int) -> str:
    """Return lines with line numbers, in the format that models know."""
    return "\n".join(f"{i:>{LINE_NUMBER_WIDTH}}\t{line}" for i, line in enumerate(lines, start=first))


# Listings --------------------------------------------------------------------------------------------


def listing(files: MemoryFileState, directory: Place, shown: str, levels: int) -> Iterator[str]:
    """Yield the content of a directory with sizes; hidden names are left out."""
    for path in files.below(directory):
        if path[-1].startswith("."):
            continue
        name = f"{shown}/{path[-1]}"
        if path in files.texts:
            yield f"{size(size_bytes(files.texts[path]))}\t{name}"
            continue
        yield f"{size(DIRECTORY_BYTES)}\t{name}/"
        if levels > 1:
            yield from listing(files, path, name, levels - 1)


def size_bytes(text: str) -> int:
    """Return the number of bytes of a text as UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def size(count: int) -> str:
    """Return ``0B``, ``12B``, ``1.5K``, ``4K``."""
    power = min(max(0, count.bit_length() - 1) // 10, 3)
    if power < 3 and count / 1024**power >= 1023.95:
        power += 1  # it would be rounded to 1024.0 of the smaller unit
    shown = count / 1024**power
    return f"{int(shown) if shown == int(shown) else f'{shown:.1f}'}{'BKMG'[power]}"
