"""The folder next to a Claude Code file: large outputs, and the conversations of sub-agents.

Names in a transcript are untrusted data. Only a plain file name is taken from one, and only a regular file
inside the folder is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from clew.message import Text, ToolResult
from clew.transcripts.source import Source

MAX_OUTPUT_BYTES = 64 << 20
_MOVED = "<persisted-output>"
_SAVED = re.compile(r"saved to:?\s+([^\n]+)$", re.MULTILINE)
_FILE_NAME = re.compile(r"[\w-][\w.-]*\.(?:txt|json|log)")
_MAX_TRIES = 100
_PACKED = (".gz", ".zst")


class SideFolder:
    """The folder of a session, if it has one."""

    def __init__(self, source: Source) -> None:
        """Look next to the source's file; piped input has no folder."""
        name = source.path.name if source.path else ""
        for ending in _PACKED:
            name = name.removesuffix(ending)
        stem = name.removesuffix(".jsonl")
        folder = source.path.parent / stem if source.path and stem and stem != name else None
        self._folder = folder if folder is not None and folder.is_dir() else None
        self._agents = dict(self._find_agents())

    def original(self, result: ToolResult) -> ToolResult | None:
        """Return a result with the output that was moved out of it; None if it was not moved, or is lost."""
        text = result.text
        if self._folder is None or not text.startswith(_MOVED):
            return None
        name = _saved_as(text)
        file = self._file("tool-results", name) if name else None
        if file is None or file.stat().st_size > MAX_OUTPUT_BYTES:
            return None
        whole = Text(file.read_bytes().decode(errors="replace"), trust=result.trust)
        return ToolResult(
            result.call_id, (whole,), result.is_error, result.name, trust=result.trust, native=result.native
        )

    def agents(self) -> Iterator[tuple[str, Path]]:
        """Yield the id and the file of each sub-agent, ordered by name."""
        yield from self._agents.items()

    def has_agent(self, agent_id: str) -> bool:
        """Return True if a sub-agent has its own file."""
        return agent_id in self._agents

    def _find_agents(self) -> Iterator[tuple[str, Path]]:
        if self._folder is not None:
            for path in sorted((self._folder / "subagents").rglob("agent-*.jsonl")):
                if self._is_inside(path):
                    yield path.stem.removeprefix("agent-"), path

    def _file(self, *names: str) -> Path | None:
        path = self._folder.joinpath(*names) if self._folder else None
        return path if path is not None and self._is_inside(path) else None

    def _is_inside(self, path: Path) -> bool:
        """Return True if a path is a regular file inside the folder, after resolving links."""
        if self._folder is None or path.is_symlink() or not path.is_file():
            return False
        return path.resolve().is_relative_to(self._folder.resolve())


def _saved_as(text: str) -> str | None:
    """Return the plain name of the file that an output was saved to, from the first line with one."""
    for told in islice(_SAVED.finditer(text), _MAX_TRIES):
        name = re.split(r"[/\\]", told.group(1).rstrip())[-1]
        if _FILE_NAME.fullmatch(name):
            return name
    return None
