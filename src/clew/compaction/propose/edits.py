"""The edits of files in the arguments of calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from clew.message import Json

_OLD = re.compile(r"old(?=$|_|[A-Z])|search$")
"""Names of arguments with the text to replace; the argument with the new text is named alike."""
_NEW = {"old": "new", "search": "replace"}
_WRITTEN = ("content", "file_text", "contents")
"""Names of the argument with the whole text of a file."""
_PATCHED = re.compile(r"^(?:@@|\*\*\* (?:Begin Patch|Update File))", re.MULTILINE)


class EditBlock(NamedTuple):
    """Lines of a file that an edit replaces by others."""

    path: str
    old: str
    new: str
    is_whole_file: bool = False
    """The new lines are the whole file."""


_FILE_OF_PATCH = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)|\+\+\+ (?:b/)?(\S+).*")


def patch_blocks(patch: str) -> Iterator[EditBlock]:
    """Yield the blocks of a patch: of each hunk, its lines before and after, context lines in both."""
    path, is_new = "", False
    old: list[str] = []
    new: list[str] = []
    for line in [*patch.split("\n"), "@@"]:
        header = _FILE_OF_PATCH.fullmatch(line)
        if header or line.startswith(("@@", "***", "--- ")):
            if path and (old or new):
                yield EditBlock(path, "\n".join(old), "\n".join(new), is_new)
            old, new = [], []
        if header:
            path, is_new = header[2] or header[3], header[1] == "Add"
        elif not line.startswith(("@@", "***", "--- ")):
            if line[:1] != "+":
                old.append(line[1:])
            if line[:1] != "-":
                new.append(line[1:])


def edits(arguments: Json, path: str = "") -> Iterator[tuple[list[str], list[str]]]:
    """Yield the removed and the inserted texts of each edit in a call; of a patch, those of one file."""
    if isinstance(arguments, str):
        if ("@@" in arguments or "***" in arguments) and _PATCHED.search(arguments):
            yield _patched(arguments, path)
    elif isinstance(arguments, list):
        for one in arguments:
            yield from edits(one, path)
    elif isinstance(arguments, Mapping):
        if (written := written_text(arguments)) is not None:
            yield [], [written]
        for name, value in arguments.items():
            other = counterpart(name)
            new = arguments.get(other) if other else None
            if isinstance(value, str) and isinstance(new, str):
                yield [value], [new]
            else:
                yield from edits(value, path)


def written_text(arguments: Json) -> str | None:
    """Return the text of a file that a call writes whole; None if it does not."""
    if not isinstance(arguments, Mapping):
        return None
    text = next((arguments[key] for key in _WRITTEN if key in arguments), None)
    return text if isinstance(text, str) else None


@lru_cache(maxsize=1_000)
def counterpart(name: str) -> str:
    """Return the name of the argument with the new text for this one; "" if this is not an old text."""
    old = _OLD.match(name)
    return f"{_NEW[old[0]]}{name[old.end() :]}" if old else ""


def _patched(patch: str, name: str) -> tuple[list[str], list[str]]:
    old: list[str] = []
    new: list[str] = []
    is_meant = True
    for line in patch.split("\n"):
        if header := _FILE_OF_PATCH.fullmatch(line):
            path = header[2] or header[3]
            is_meant = not name or name.endswith(path) or path.endswith(name)
        elif is_meant and line.startswith("-") and not line.startswith("---"):
            old.append(line[1:])
        elif is_meant and line.startswith("+"):
            new.append(line[1:])
    return old, new
