"""A few tools for the files below a root: read, list and search are free, writing asks a person first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from clew.chat.places import SKIPPED, called, files_below, inside, read_bytes, write_text
from clew.errors import InputError
from clew.memory.tools import Tool, ToolAnswer
from clew.memory.tools.schema import between, takes, text, whole
from clew.message import JsonObject, Trust

MOST_BYTES = 1_000_000
"""Of a file that is read or searched; the rest of it is not looked at."""
MOST_SHOWN = 12_000
"""Characters of one answer."""
MOST_LINES = 400
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
    lines = _text_of(root, given["path"]).splitlines()
    start = between(given, "start_line", 1, max(1, len(lines)), 1)
    wanted = between(given, "lines", 1, MOST_LINES, MOST_LINES)
    shown = "\n".join(lines[start - 1 : start - 1 + wanted])[:MOST_SHOWN]
    last = start + max(0, shown.count("\n"))
    more = f"\n[lines {start}-{last} of {len(lines)}]" if last < len(lines) or start > 1 else ""
    return ToolAnswer(f"{shown or '(the file is empty)'}{more}", Trust.UNTRUSTED)


def _text_of(root: Path, path: str) -> str:
    held = read_bytes(root, path, MOST_BYTES)
    if b"\0" in held:
        raise InputError(f"{path!r} is not text", "name a text file")
    return held.decode("utf-8", "replace")


# List ------------------------------------------------------------------------------------------------


def _list(root: Path, given: dict[str, Any]) -> ToolAnswer:
    place = inside(root, given["path"] or ".")
    if not place.is_dir():
        raise InputError(f"{given['path']!r} is no folder", "read_file shows a file")
    entries = sorted(entry for entry in place.iterdir() if entry.name not in SKIPPED)
    rows = [f"{called(root, place)}/", *map(_row, entries[:MOST_NAMES])]
    if len(entries) > MOST_NAMES:
        rows.append(f"… and {len(entries) - MOST_NAMES} more")
    return ToolAnswer("\n".join(rows), Trust.UNTRUSTED)


def _row(entry: Path) -> str:
    if entry.is_symlink():
        return f"  {entry.name} (a link)"
    return f"  {entry.name}/" if entry.is_dir() else f"  {entry.name} ({entry.stat().st_size:,} bytes)"


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
        for number, line in enumerate(held.decode("utf-8", "replace").splitlines(), start=1):
            if low in line.casefold():
                yield f"{called(root, file)}:{number}: {line.strip()[:LINE_WIDTH]}"


# Write -----------------------------------------------------------------------------------------------


def _write(root: Path, given: dict[str, Any]) -> ToolAnswer:
    if len(given["text"]) > MOST_WRITTEN:
        raise InputError(f"{len(given['text']):,} characters are too many", f"at most {MOST_WRITTEN:,}")
    there = write_text(root, given["path"], given["text"])
    did = "was written anew" if there else "was created"
    return ToolAnswer(f"{given['path']} {did}: {len(given['text']):,} characters.")


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
