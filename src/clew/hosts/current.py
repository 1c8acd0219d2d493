"""Find the session that a host is working on: by its environment, by the hook's note, or by its folder."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from clew.errors import NotFound
from clew.hosts.session_notes import newest_note

MOST_LOOKED_AT = 200
"""How many of the newest sessions of this computer are searched for those of a folder."""
_FORMATS = {"gemini": "gemini-cli"}
"""Hosts whose session format has a different name."""


@dataclass(frozen=True, slots=True)
class CurrentSession:
    """A session file of a host."""

    tool: str
    session: str
    path: Path
    directory: str

    @property
    def format(self) -> str:
        """Return the name of its format."""
        return format_of(self.tool)


def format_of(tool: str) -> str:
    """Return the name of the format in which a host writes its sessions."""
    return _FORMATS.get(tool, tool)


def current_session(directory: str, env: Mapping[str, str] = os.environ) -> CurrentSession:
    """Return the session a host in this folder works on: of several, the one written to last."""
    directory = env.get("CLAUDE_PROJECT_DIR") or directory
    sessions = [session for session in (_from_environment(directory, env), _from_note(directory)) if session]
    if sessions:
        return max(sessions, key=lambda item: item.path.stat().st_mtime)
    newest = next(iter(project_sessions(directory)), None)
    if newest is None:
        raise NotFound(
            f"no agent session found for {directory}", "start the agent there, or see `clew sessions`"
        )
    return newest


def _from_environment(directory: str, env: Mapping[str, str]) -> CurrentSession | None:
    session = env.get("CLAUDE_CODE_SESSION_ID", "")
    if not session or "/" in session:
        return None
    home = Path(env.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    path = next(iter(home.glob(f"projects/*/{glob.escape(session)}.jsonl")), None)
    return CurrentSession("claude-code", session, path, directory) if path else None


def _from_note(directory: str) -> CurrentSession | None:
    note = newest_note(directory, os.getppid())
    if note is None or not note.transcript or not Path(note.transcript).exists():
        return None
    return CurrentSession(note.tool, note.session, Path(note.transcript), directory)


def project_sessions(directory: str) -> Iterator[CurrentSession]:
    """Yield the sessions of a folder, the newest first."""
    from clew.transcripts.discover import find_sessions

    tools = {name: tool for tool, name in _FORMATS.items()}
    for session in islice(find_sessions(), MOST_LOOKED_AT):
        if session.project == directory:
            tool = tools.get(session.format, session.format)
            yield CurrentSession(tool, session.session_id or session.path.stem, session.path, directory)
