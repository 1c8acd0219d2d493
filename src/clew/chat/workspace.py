"""Tools for the files below a root: read, list and search freely, write after approval."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from clew.chat.approvals import characters
from clew.chat.paths import (
    FolderEntry,
    list_folder,
    open_regular,
    read_bytes,
    relative_name,
    resolve_inside,
    walk_files,
    write_text,
)
from clew.errors import InputError
from clew.memory.tools.tool import Tool, ToolAnswer, bounded_number, integer, object_schema, string
from clew.message import JsonObject, Trust
from clew.secrets import find, rules
from clew.secrets.find import mask_of, own_key

MOST_SHOWN = 12_000
"""Most characters of one answer. Chosen by hand."""
MOST_LINES = 400
MOST_BYTES = 100_000_000
"""Most bytes read of a file to find the requested lines."""
_AT_ONCE = 1 << 16
_LONGEST = 4 * MOST_SHOWN
"""Most bytes kept of a line: more could never be shown."""


class _Line(NamedTuple):
    text: str
    left_out: int = 0
    """Bytes of the line that are not in the text."""


def excerpt(file: BinaryIO, name: str, first: int, wanted: int) -> str:
    """Return ``wanted`` lines of a file from line ``first`` on, with a note about omitted ones.

    The note is ``[lines 10-20 of 300]``. Binary files are refused.
    """
    lines = _lines(file, name)
    before = sum(1 for _ in islice(lines, first - 1))
    shown: list[str] = []
    room, cut = MOST_SHOWN, ""
    behind = 0  # lines after the shown ones
    for line in islice(lines, wanted):
        if shown and len(line.text) > room:
            behind = 1  # whole lines only: the next excerpt starts with this line
            break
        shown.append(line.text[:room])
        if missing := _missing(line, room):  # only the first line can be larger than the room
            cut = f"; line {first} has {missing} more"
            break
        room -= len(line.text) + 1
    behind += sum(1 for _ in lines)
    more = " or more" if file.read(1) else ""
    count = before + len(shown) + behind
    if not shown and first > 1:
        raise InputError(f"{name!r} has no line {first:,}", f"it has {count:,}{more}")
    blank = bool(shown) and not any(shown)  # without a note it would look like an empty file
    if first > 1 or behind or cut or more or blank:
        shown.append(f"[lines {first}-{first + len(shown) - 1} of {count}{more}{cut}]")
    return "\n".join(shown) if shown else "(the file is empty)"


def _missing(line: _Line, room: int) -> str:
    """Return how much of a line is not shown; empty if nothing."""
    if line.left_out:
        return f"{line.left_out + len(line.text[room:].encode()):,} bytes"
    return f"{len(line.text) - room:,} characters" if len(line.text) > room else ""


def _lines(file: BinaryIO, name: str) -> Iterator[_Line]:
    """Yield the start of each line of a file; at most ``MOST_BYTES`` are read."""
    kept, length = b"", 0
    read = 0
    while read < MOST_BYTES and (piece := file.readline(_AT_ONCE)):
        if b"\0" in piece:
            raise InputError(f"{name!r} is not text", "name a text file")
        read += len(piece)
        length += len(piece)
        kept = (kept + piece)[:_LONGEST]
        if piece.endswith(b"\n"):
            yield _line(kept, length)
            kept, length = b"", 0
    if length:
        yield _line(kept, length)


def _line(kept: bytes, length: int) -> _Line:
    return _Line(kept.decode("utf-8", "replace").rstrip("\r\n"), length - len(kept))


MOST_UNMASKED_BYTES = 10_000_000
"""Most bytes of the existing file that are searched for the masked secrets."""
_MASK = re.compile(r"\[secret:(?P<rule>[\w.-]+):[0-9a-f]{4}\]")


def restore_secrets(root: Path, path: str, text: str) -> tuple[str, int]:
    """Return a text with masks replaced by the file's own secrets, and the number of replacements.

    The model sees only masks. A mask that matches no secret of the existing file, or several, is an
    ``InputError``: written to disk it would overwrite the secret.
    """
    known = {rule.id for rule in rules()}
    masks = {match[0] for match in _MASK.finditer(text) if match["rule"] in known}
    if not masks:
        return text, 0
    before = _current_text(root, path)
    secrets = _secrets(before)
    for mask in masks:
        candidates = secrets.get(mask, set())
        is_literal = not candidates and mask in before  # the file itself contains the text of the mask
        if len(candidates) != 1 and not is_literal:
            advice = "keep the line as it is in the file, or ask the user to write it"
            raise InputError(f"{mask} does not match exactly one secret of {path!r}", advice)
    back = [match for match in _MASK.finditer(text) if match[0] in secrets]
    return _MASK.sub(lambda match: min(secrets.get(match[0], {match[0]})), text), len(back)


def _secrets(text: str) -> dict[str, set[str]]:
    """Return the secrets of a text by their masks."""
    result: dict[str, set[str]] = {}
    for rule, start, end in find(text):
        result.setdefault(mask_of(rule, text[start:end], own_key()), set()).add(text[start:end])
    return result


def _current_text(root: Path, path: str) -> str:
    """Return the text of a file as it is now; empty if there is none."""
    if not resolve_inside(root, path).is_file():
        return ""
    return read_bytes(root, path, MOST_UNMASKED_BYTES).decode("utf-8", "replace")


MOST_SEARCHED_BYTES = 1_000_000
"""Most bytes searched in one file."""
FARTHEST_LINE = 1_000_000_000
MOST_NAMES = 200
MOST_HITS = 40
MOST_SEARCHED = 5_000
MOST_WRITTEN = 200_000
LINE_WIDTH = 240
"""Most characters shown of a line with a hit; more if the searched text is longer."""


class FileTool(NamedTuple):
    """A tool for files, before it is bound to a root."""

    name: str
    about: str
    parameters: JsonObject
    does: Callable[[Path, dict[str, Any]], ToolAnswer]
    read_only: bool = True

    def bind(self, root: Path) -> Tool:
        """Return the tool for files below a root. An error of the disk becomes an answer for the model."""

        def run(_context: object, arguments: dict[str, Any]) -> ToolAnswer:
            try:
                return self.does(root, arguments)
            except OSError as error:
                return ToolAnswer(f"{error.strerror or error}", is_error=True)

        return Tool(self.name, self.about, self.parameters, run, self.read_only)


def workspace_tools(root: Path) -> tuple[Tool, ...]:
    """Return the tools for the files below a root; none can leave it."""
    return tuple(tool.bind(root) for tool in _TOOLS)


def _read(root: Path, arguments: dict[str, Any]) -> ToolAnswer:
    first = bounded_number(arguments, "start_line", 1, FARTHEST_LINE, 1)
    wanted = bounded_number(arguments, "lines", 1, MOST_LINES, MOST_LINES)
    with open_regular(root, arguments["path"]) as file:
        return ToolAnswer(excerpt(file, arguments["path"], first, wanted), Trust.UNTRUSTED)


def _list(root: Path, arguments: dict[str, Any]) -> ToolAnswer:
    path = arguments["path"] or "."
    entries = list_folder(root, path)
    rows = [f"{relative_name(root, resolve_inside(root, path))}/", *map(_row, entries[:MOST_NAMES])]
    if len(entries) > MOST_NAMES:
        rows.append(f"… and {len(entries) - MOST_NAMES} more")
    return ToolAnswer("\n".join(rows), Trust.UNTRUSTED)


def _row(entry: FolderEntry) -> str:
    if stat.S_ISLNK(entry.mode):
        return f"  {entry.name} (a link)"
    return f"  {entry.name}/" if stat.S_ISDIR(entry.mode) else f"  {entry.name} ({entry.size:,} bytes)"


def _search(root: Path, arguments: dict[str, Any]) -> ToolAnswer:
    wanted = arguments["text"]
    if not wanted.strip():
        raise InputError("the search text is empty", "give some text")
    search = _Search(root, wanted)
    place = resolve_inside(root, arguments["path"] or ".")
    found = list(islice(search.hits(place), MOST_HITS + 1))
    if len(found) > MOST_HITS:
        rows = [*found[:MOST_HITS], f"… and more; only the first {MOST_HITS} are shown"]
        return ToolAnswer("\n".join(rows), Trust.UNTRUSTED)
    omitted = search.omitted()
    if not found:
        none = f"no searched text contains {wanted!r}; {omitted}"
        return ToolAnswer(none if omitted else f"no file contains {wanted!r}")
    return ToolAnswer("\n".join([*found, *([f"({omitted})"] if omitted else [])]), Trust.UNTRUSTED)


@dataclass(slots=True)
class _Search:
    """A search for a text in files, which counts what it could not search."""

    root: Path
    wanted: str
    unreadable: int = 0
    """Files and folders that could not be read."""
    cut: int = 0
    """Files that were searched only at their beginning."""
    stopped: bool = False
    """Whether more files than ``MOST_SEARCHED`` were there."""

    def hits(self, place: Path) -> Iterator[str]:
        """Yield each line that contains the text, with its file and number."""
        low = self.wanted.casefold()
        for count, file in enumerate(walk_files(self.root, place, self._miss)):
            if count == MOST_SEARCHED:
                self.stopped = True
                return
            name = relative_name(self.root, file)
            for number, line in enumerate(self._text(name).split("\n"), start=1):
                if low in line.casefold():
                    yield f"{name}:{number}: {_around(line, low)}"

    def _miss(self) -> None:
        self.unreadable += 1

    def _text(self, name: str) -> str:
        """Return the searched text of a file; empty if it is binary or cannot be read."""
        try:
            data = read_bytes(self.root, name, MOST_SEARCHED_BYTES + 1)
        except (OSError, InputError):  # no permission, or the file changed since it was listed
            self._miss()
            return ""
        if b"\0" in data:
            return ""
        self.cut += len(data) > MOST_SEARCHED_BYTES
        return data[:MOST_SEARCHED_BYTES].decode("utf-8", "replace")

    def omitted(self) -> str:
        """Return what was not searched; empty if nothing."""
        parts = [f"only the first {MOST_SEARCHED:,} files were searched"] if self.stopped else []
        if self.cut:
            files = "1 file" if self.cut == 1 else f"{self.cut:,} files"
            parts.append(f"only the first {MOST_SEARCHED_BYTES:,} bytes of {files} were searched")
        if self.unreadable:
            parts.append(f"{self.unreadable:,} files or folders could not be read")
        return "; ".join(parts)


def _around(line: str, low: str) -> str:
    """Return a line, or the part of a long one that contains the text."""
    at = _start_of(low, line)
    if at + len(low) <= LINE_WIDTH:
        return line.strip()[:LINE_WIDTH]
    start = at - LINE_WIDTH // 4
    return f"…{line[start : start + max(LINE_WIDTH, at - start + len(low))].strip()}"


def _start_of(low: str, line: str) -> int:
    """Return where a text in folded case begins in a line. Folding makes some characters two: ß, ss."""
    folded = line.casefold()
    at = folded.find(low)
    if len(folded) == len(line):
        return at
    ends = accumulate(len(character.casefold()) for character in line)
    return sum(1 for end in ends if end <= at)


def _write(root: Path, arguments: dict[str, Any]) -> ToolAnswer:
    if len(arguments["text"]) > MOST_WRITTEN:
        raise InputError(f"{len(arguments['text']):,} characters are too many", f"at most {MOST_WRITTEN:,}")
    text, back = restore_secrets(root, arguments["path"], arguments["text"])
    exists = write_text(root, arguments["path"], text)
    did = "was overwritten" if exists else "was created"
    secrets = f" {back:,} masked secrets kept their values." if back else ""
    return ToolAnswer(f"{arguments['path']} {did}: {characters(len(arguments['text']))}.{secrets}")


_TOOLS = (
    FileTool(
        "read_file",
        "Show a text file of the workspace, or some lines of it.",
        object_schema(
            path=string("The file, from the root of the workspace."),
            start_line=integer("The first line to show; 1 if null.", optional=True),
            lines=integer(f"How many lines, at most {MOST_LINES}.", optional=True),
        ),
        _read,
    ),
    FileTool(
        "list_files",
        "Show what is in a folder of the workspace.",
        object_schema(
            path=string("The folder, from the root of the workspace; the root if null.", optional=True)
        ),
        _list,
    ),
    FileTool(
        "search_files",
        "Find the lines of the workspace's text files that contain a text; case is ignored.",
        object_schema(
            text=string("The exact text to find."),
            path=string("The file or folder to look in; everywhere if null.", optional=True),
        ),
        _search,
    ),
    FileTool(
        "write_file",
        "Overwrite a file of the workspace, or create one. A person approves it first.",
        object_schema(
            path=string("The file, from the root of the workspace."),
            text=string("Its whole text from now on."),
        ),
        _write,
        read_only=False,
    ),
)
"""The order never changes, because a changed list of tools misses the provider's cache."""
