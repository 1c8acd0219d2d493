"""A few tools for the files below a root: read, list and search are free, writing asks a person first."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from clew.chat.asking import characters
from clew.chat.excerpt import MOST_LINES, excerpt
from clew.chat.places import Entry, called, files_below, inside, listed, opened, read_bytes, write_text
from clew.chat.unmasking import unmasked
from clew.errors import InputError
from clew.memory.tools import Tool, ToolAnswer
from clew.memory.tools.schema import between, takes, text, whole
from clew.message import JsonObject, Trust

MOST_BYTES = 1_000_000
"""Of a file that is searched; the rest of it is not looked at."""
FARTHEST_LINE = 1_000_000_000
MOST_NAMES = 200
MOST_HITS = 40
MOST_SEARCHED = 5_000
MOST_WRITTEN = 200_000
LINE_WIDTH = 240

Deed = Callable[[Path, dict[str, Any]], ToolAnswer]


def workspace_tools(root: Path) -> tuple[Tool, ...]:
    """Return the tools for the files below a root; each is given the place it must not leave."""
    return tuple(
        Tool(name, about, parameters, _bound(deed, root), read_only)
        for name, about, parameters, deed, read_only in _TOOLS
    )


def _bound(deed: Deed, root: Path) -> Callable[[Any, dict[str, Any]], ToolAnswer]:
    """Return a deed at its root. What the disk has against it is an answer for the model to read."""

    def does(_desk: Any, given: dict[str, Any]) -> ToolAnswer:  # noqa: ANN401  # files need no desk
        try:
            return deed(root, given)
        except OSError as error:
            return ToolAnswer(f"{error.strerror or error}", is_error=True)

    return does


# Read ------------------------------------------------------------------------------------------------


def _read(root: Path, given: dict[str, Any]) -> ToolAnswer:
    first = between(given, "start_line", 1, FARTHEST_LINE, 1)
    wanted = between(given, "lines", 1, MOST_LINES, MOST_LINES)
    with opened(root, given["path"]) as file:
        return ToolAnswer(excerpt(file, given["path"], first, wanted), Trust.UNTRUSTED)


# List ------------------------------------------------------------------------------------------------


def _list(root: Path, given: dict[str, Any]) -> ToolAnswer:
    path = given["path"] or "."
    entries = listed(root, path)
    rows = [f"{called(root, inside(root, path))}/", *map(_row, entries[:MOST_NAMES])]
    if len(entries) > MOST_NAMES:
        rows.append(f"… and {len(entries) - MOST_NAMES} more")
    return ToolAnswer("\n".join(rows), Trust.UNTRUSTED)


def _row(entry: Entry) -> str:
    if stat.S_ISLNK(entry.mode):
        return f"  {entry.name} (a link)"
    return f"  {entry.name}/" if stat.S_ISDIR(entry.mode) else f"  {entry.name} ({entry.size:,} bytes)"


# Search ----------------------------------------------------------------------------------------------


def _search(root: Path, given: dict[str, Any]) -> ToolAnswer:
    wanted = given["text"]
    if not wanted.strip():
        raise InputError("nothing to look for", "give some text")
    found = list(islice(_hits(root, inside(root, given["path"] or "."), wanted), MOST_HITS + 1))
    if not found:
        return ToolAnswer(f"no file has {wanted!r}")
    cut = [f"… and more; only the first {MOST_HITS} are shown"] if len(found) > MOST_HITS else []
    return ToolAnswer("\n".join([*found[:MOST_HITS], *cut]), Trust.UNTRUSTED)


def _hits(root: Path, place: Path, wanted: str) -> Iterator[str]:
    low = wanted.casefold()
    for file in islice(files_below(root, place), MOST_SEARCHED):
        held = read_bytes(root, called(root, file), MOST_BYTES)
        if b"\0" in held:
            continue
        for number, line in enumerate(held.decode("utf-8", "replace").split("\n"), start=1):
            if low in line.casefold():
                yield f"{called(root, file)}:{number}: {line.strip()[:LINE_WIDTH]}"


# Write -----------------------------------------------------------------------------------------------


def _write(root: Path, given: dict[str, Any]) -> ToolAnswer:
    if len(given["text"]) > MOST_WRITTEN:
        raise InputError(f"{len(given['text']):,} characters are too many", f"at most {MOST_WRITTEN:,}")
    text, back = unmasked(root, given["path"], given["text"])
    there = write_text(root, given["path"], text)
    did = "was written anew" if there else "was created"
    secrets = f" {back:,} masked in it stayed as they were." if back else ""
    return ToolAnswer(f"{given['path']} {did}: {characters(len(given['text']))}.{secrets}")


_TOOLS: tuple[tuple[str, str, JsonObject, Deed, bool], ...] = (
    (
        "read_file",
        "Show a text file of the workspace, or some lines of it.",
        takes(
            path=text("The file, from the root of the workspace."),
            start_line=whole("The first line to show; 1 if null.", optional=True),
            lines=whole(f"How many lines, at most {MOST_LINES}.", optional=True),
        ),
        _read,
        True,
    ),
    (
        "list_files",
        "Show what is in a folder of the workspace.",
        takes(path=text("The folder, from the root of the workspace; the root if null.", optional=True)),
        _list,
        True,
    ),
    (
        "search_files",
        "Find the lines of the workspace's text files that have a text, whatever the case of its letters.",
        takes(
            text=text("What to look for, to the letter."),
            path=text("The file or folder to look in; everywhere if null.", optional=True),
        ),
        _search,
        True,
    ),
    (
        "write_file",
        "Put a text in place of a file of the workspace, or make a new one. A person approves it first.",
        takes(
            path=text("The file, from the root of the workspace."), text=text("Its whole text from now on.")
        ),
        _write,
        False,
    ),
)
"""Name, description, parameters, what it does, and whether it changes nothing. The order never changes."""
