"""The six commands of Anthropic's memory tool, on files folded from a log.

Answers, refusals and numbering match the file back end of Anthropic's SDK exactly, because models were
trained on those texts. The storage differs: every version is kept, two processes cannot lose each other's
changes, and there is no disk to escape to. If that back end would fail with an error of the operating system
(a file used as a directory, a name too long), this one refuses with a message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clew.log.fold import MEMORY_FILE, Clock, Journal, unix_ms
from clew.log.protocol import Ctx, Store
from clew.memory.notes.memory_files import (
    DIRECTORY_BYTES,
    MOST_LINES,
    NO_FILES,
    ROOT,
    MemoryFileState,
    Version,
    context_lines,
    file_of,
    fold_files,
    listing,
    number_lines,
    refusal,
    require_directory,
    require_once,
    resolve,
    size,
    text_of,
    written_text,
)
from clew.memory.notes.notebook import NOTES_SESSION
from clew.message import JsonObject

LEVELS = 2
"""Levels of a directory that are listed."""


class MemoryFiles:
    """Files below ``/memories``, stored in the log that also holds the notes of a workspace."""

    def __init__(
        self, store: Store, workspace: str = "local", session: str = NOTES_SESSION, *, clock: Clock = unix_ms
    ) -> None:
        ctx = Ctx(workspace=workspace, session=session)
        self._journal = Journal(store, ctx, MEMORY_FILE, fold_files, NO_FILES, clock)

    # The six commands ------------------------------------------------------------------------------------

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Return a directory's listing, or a file with line numbers."""
        place, files = resolve(path), self._journal.state
        if place in files.directories:
            sizes = [f"{size(DIRECTORY_BYTES)}\t{path}", *listing(files, place, path, LEVELS)]
            header = f"Here're the files and directories up to {LEVELS} levels deep in {path}"
            return "\n".join([f"{header}, excluding hidden items:", *sizes])
        lines = text_of(files, place, path).split("\n")
        if len(lines) > MOST_LINES:
            raise refusal(f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.")
        first, shown = 1, lines
        if view_range is not None and len(view_range) == 2:
            first = max(1, view_range[0])
            shown = lines[first - 1 : len(lines) if view_range[1] == -1 else view_range[1]]
        return f"Here's the content of {path} with line numbers:\n{number_lines(shown, first)}"

    def create(self, path: str, file_text: str) -> str:
        """Create a file; fails if the path exists."""
        place = resolve(path)

        def decide(files: MemoryFileState) -> JsonObject:
            if files.exists(place):
                raise refusal(f"File {path} already exists")
            require_directory(files, place, path)
            return written_text("create", place, file_text)

        self._journal.append(decide)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Replace a text that occurs exactly once."""
        place = resolve(path)

        def decide(files: MemoryFileState) -> JsonObject:
            text = file_of(files, place, path)
            require_once(text, old_str, path)
            return written_text("str_replace", place, text.replace(old_str, new_str))

        files, _ = self._journal.append(decide)
        before = files.versions[place][-2].text or ""
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{head}\n{context_lines(before, old_str, new_str)}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines after a line; 0 is the top."""
        place = resolve(path)

        def decide(files: MemoryFileState) -> JsonObject:
            lines = file_of(files, place, path).split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= insert_line <= len(lines):
                raise refusal(
                    f"Invalid `insert_line` parameter: {insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            lines.insert(insert_line, insert_text.rstrip("\n"))
            text = "\n".join(lines)
            return written_text("insert", place, text if text.endswith("\n") else f"{text}\n")

        self._journal.append(decide)
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Delete a file, or a directory with its content; old versions stay in the log."""
        place = resolve(path)
        if not place:
            raise refusal(f"Cannot delete the {ROOT} directory itself")

        def decide(files: MemoryFileState) -> JsonObject:
            if not files.exists(place):
                raise refusal(f"The path {path} does not exist")
            return {"does": "delete", "path": "/".join(place)}

        self._journal.append(decide)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a directory; fails if the destination exists."""
        old, new = resolve(old_path), resolve(new_path)
        if not old:
            raise refusal(f"Cannot rename the {ROOT} directory itself")

        def decide(files: MemoryFileState) -> JsonObject:
            if files.exists(new):
                raise refusal(f"The destination {new_path} already exists")
            if not files.exists(old):
                raise refusal(f"The path {old_path} does not exist")
            if new[: len(old)] == old:
                raise refusal(f"Cannot move {old_path} into itself")
            require_directory(files, new, new_path)
            return {"does": "rename", "path": "/".join(old), "to": "/".join(new)}

        self._journal.append(decide)
        return f"Successfully renamed {old_path} to {new_path}"

    # Other methods ---------------------------------------------------------------------------------------

    def clear(self) -> str:
        """Delete everything; old versions stay in the log."""
        self._journal.append(lambda _: {"does": "clear", "path": ""})
        return "All memory cleared"

    def history(self, path: str) -> tuple[Version, ...]:
        """Return every version of the file at a path, or last at it, oldest first."""
        return self._journal.state.versions.get(resolve(path), ())


# Tool calls ------------------------------------------------------------------------------------------

_FIELDS: dict[str, dict[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str, "new_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}


def run_command(files: MemoryFiles, command: JsonObject) -> str:
    """Run a call of the memory tool; raise ``InputError`` for an invalid one."""
    name = command.get("command")
    fields = _FIELDS.get(name) if isinstance(name, str) else None
    if fields is None:
        raise refusal(f"Unknown command: {name}")
    arguments: dict[str, Any] = {field: command.get(field) for field in fields}
    wrong = [
        field
        for field, kind in fields.items()
        if not isinstance(arguments[field], kind) or isinstance(arguments[field], bool)
    ]
    if wrong:
        raise refusal(f"The command {name} needs {', '.join(fields)}; check {', '.join(wrong)}")
    if name == "view":
        arguments["view_range"] = _view_range(command)
    does: Callable[..., str] = getattr(files, str(name))
    return does(**arguments)


def _view_range(command: JsonObject) -> list[int] | None:
    """Return the requested lines; as in the SDK, anything but a list of integers means all lines."""
    lines = command.get("view_range")
    if not isinstance(lines, list):
        return None
    numbers = [line for line in lines if isinstance(line, int) and not isinstance(line, bool)]
    return numbers if len(numbers) == len(lines) else None
