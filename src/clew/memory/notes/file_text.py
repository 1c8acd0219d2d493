"""Paths and texts of memory files: resolve paths, edit texts, render listings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from clew.errors import InputError
from clew.memory.notes.files import Files, Path, written
from clew.message import JsonObject
from clew.secrets import mask

ROOT = "/memories"
MOST_LINES = 999_999
LINE_NUMBER_WIDTH = 6
DIRECTORY_BYTES = 4_096
"""The size of a directory on most disks, and in the listings that models know."""
FILE_BYTES = 1_000_000
"""Most bytes of one file, because every version of it is kept (chosen by hand)."""
NAME_BYTES = 255
MOST_PLACES = 1_000
"""Most line numbers in a refusal."""


def refused(detail: str) -> InputError:
    """Return an error with exactly the memory tool's message, because a model reads it."""
    return InputError(detail, advice="")


# Paths -----------------------------------------------------------------------------------------------


def resolve(path: str) -> Path:
    """Return the place of a path below the root; refuse a path that leads outside.

    Nothing is decoded: ``%2e%2e`` is an ordinary name.
    """
    if not path.startswith(ROOT):
        raise refused(f"Path must start with {ROOT}, got: {path}")
    names = [ROOT.strip("/")]
    for name in path.removeprefix(ROOT).split("/"):
        if name == "..":
            if not names:
                raise refused(f"Path {path} would escape {ROOT} directory")
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    if not names or names[0] != ROOT.strip("/"):
        raise refused(f"Path {path} would escape {ROOT} directory")
    if "\0" in path or any(len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES for name in names):
        raise refused(f"The path {path!r} contains an invalid file name")
    return tuple(names[1:])


def require_directory(files: Files, place: Path, path: str) -> None:
    """Refuse a place below a file."""
    if any(place[:depth] in files.texts for depth in range(1, len(place))):
        raise refused(f"The path {path} leads through a file")


# Texts -----------------------------------------------------------------------------------------------


def text_of(files: Files, place: Path, path: str) -> str:
    """Return the text of an existing file."""
    text = files.texts.get(place)
    if text is None:
        raise refused(f"The path {path} does not exist. Please provide a valid path.")
    return text


def file_of(files: Files, place: Path, path: str) -> str:
    """Return the text of a file to edit; refuse a directory."""
    if place in files.directories:
        raise refused(f"The path {path} is not a file.")
    return text_of(files, place, path)


def written_text(does: str, place: Path, text: str) -> JsonObject:
    """Return the event body for a file's new text, secrets masked; refuse a file that is too large."""
    weight = size_bytes(text)
    if weight > FILE_BYTES:
        raise refused(f"A memory file takes at most {FILE_BYTES:,} bytes, this one would have {weight:,}")
    return written(does, place, mask(text).text)


def require_once(text: str, old: str, path: str) -> None:
    """Refuse a text that does not occur, or occurs more than once."""
    count = text.count(old)
    if count == 0:
        raise refused(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if count > 1:
        lines = ", ".join(map(str, islice(_lines_of(text, old), MOST_PLACES)))
        raise refused(
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


def around(text: str, old: str, new: str) -> str:
    """Return the lines around a replacement: two before it and two after."""
    at = text.count("\n", 0, text.find(old))
    lines = text.replace(old, new).split("\n")
    first = max(0, at - 2)
    return numbered(lines[first : at + 3], first + 1)


def numbered(lines: Sequence[str], first: int) -> str:
    """Return lines with line numbers, in the format that models know."""
    return "\n".join(f"{i:>{LINE_NUMBER_WIDTH}}\t{line}" for i, line in enumerate(lines, start=first))


# Listings --------------------------------------------------------------------------------------------


def listing(files: Files, directory: Path, shown: str, levels: int) -> Iterator[str]:
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
    shown = count / 1024**power
    return f"{int(shown) if shown == int(shown) else f'{shown:.1f}'}{'BKMG'[power]}"
