"""Which session a host is working on, and the notes that its hook and its MCP server share.

A note is a small file in clew's own folder: which session a host process works on, what must stay in view
after its last compaction, and the user's changes to its rules. It is written atomically.
"""

from __future__ import annotations

import glob
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from clew.errors import NotFound
from clew.settings import clew_home

MOST_NOTES = 200
"""At most this many notes are kept, a few kilobytes each; older ones are removed."""
LOG_BYTES = 256 << 10
"""Size above which the log of errors is begun again; chosen by hand."""
_QUOTED = ("reminder", "state", "pinned", "taken_off")
"""Fields of a note that quote a session; the others are its names, which must stay exact."""


@dataclass(frozen=True, slots=True)
class SessionNote:
    """The note on one session of a host."""

    tool: str
    session: str
    transcript: str = ""
    directory: str = ""
    host_pid: int = 0
    """The process that started the hook, or its parent; the same as the MCP server's."""
    time: float = 0.0
    reminder: str = ""
    """The reminder computed before a compaction, to be injected after it."""
    state: dict[str, object] = field(default_factory=dict)
    """What the reminder was made from, a ``WorkState`` as JSON; empty if it is to be computed again."""
    pending: bool = False
    """A compaction began, and its reminder has not been injected yet."""
    pinned: tuple[str, ...] = ()
    """Rules that the user added..."""
    taken_off: tuple[str, ...] = ()
    """...and those that the user removed."""

    @property
    def age_seconds(self) -> float:
        """Return its age in seconds."""
        return time.time() - self.time


def hosts_home() -> Path:
    """Return the folder in which clew keeps data for hosts."""
    return clew_home() / "hosts"


def _path(tool: str, session: str) -> Path:
    return hosts_home() / "notes" / f"{tool}-{re.sub(r'[^A-Za-z0-9_.-]', '_', session)[:120]}.json"


def read_note(tool: str, session: str) -> SessionNote:
    """Return the note of a session; an empty one if there is none or it cannot be read."""
    return _read(_path(tool, session)) or SessionNote(tool, session)


def _read(path: Path) -> SessionNote | None:
    known = {item.name for item in fields(SessionNote)}
    try:
        value = json.loads(path.read_bytes())
        note = SessionNote(**{key: item for key, item in value.items() if key in known})
        return replace(note, pinned=tuple(note.pinned), taken_off=tuple(note.taken_off))
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def write_note(note: SessionNote) -> None:
    """Write a note with secrets masked, replacing the session's last one."""
    path = _path(note.tool, note.session)
    is_new = not path.exists()
    fields_ = _masked(asdict(replace(note, time=time.time())))
    write_whole(path, json.dumps(fields_, ensure_ascii=False).encode())
    if is_new:
        notes = sorted(path.parent.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in notes[MOST_NOTES:]:
            old.unlink(missing_ok=True)


def _masked(note: dict[str, Any]) -> dict[str, Any]:
    """Return a note's fields with the secrets in quoted text masked."""
    quoted = {name: note[name] for name in _QUOTED if note[name]}
    if not quoted:
        return note
    from clew.secrets import mask_json  # here: most events of a host write a note without a quotation

    return note | mask_json(json.loads(json.dumps(quoted)))  # which knows lists, not tuples


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically, keeping the mode of an existing one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(data)
    Path(file.name).chmod(mode)
    Path(file.name).replace(path)


def newest_note(directory: str, host_pid: int) -> SessionNote | None:
    """Return the note of the host process that also started us, or the newest of a folder."""
    notes = [note for path in (hosts_home() / "notes").glob("*.json") if (note := _read(path))]
    notes.sort(key=lambda note: note.time, reverse=True)
    same_host = (note for note in notes if note.host_pid == host_pid and note.directory == directory)
    return next(same_host, next((note for note in notes if note.directory == directory), None))


def log_failure(what: str) -> None:
    """Add a line to the hook's log, secrets masked: an error may quote the session. Errors are ignored."""
    from clew.secrets import mask  # here: most runs log nothing

    try:
        path = hosts_home() / "hook.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".log.old"))
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {os.getpid()} {mask(what).text.rstrip()}\n")
    except OSError:
        return


# The current session ---------------------------------------------------------------------------------

MOST_LOOKED_AT = 200
"""How many of the newest sessions of this computer are searched for those of a folder."""
_FORMATS = {"gemini": "gemini-cli"}
"""Hosts whose session format has a different name."""


def format_of(tool: str) -> str:
    """Return the name of the format in which a host writes its sessions."""
    return _FORMATS.get(tool, tool)


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


def current_session(directory: str) -> CurrentSession:
    """Return the session a host in this folder works on: of several, the one written to last.

    It is named by the host's environment or by the hook's note; else it is the newest of the folder.
    """
    directory = os.environ.get("CLAUDE_PROJECT_DIR") or directory
    sessions = [session for session in (_from_environment(directory), _from_note(directory)) if session]
    if sessions:
        return max(sessions, key=lambda item: item.path.stat().st_mtime)
    newest = next(project_sessions(directory), None)
    if newest is None:
        raise NotFound(
            f"no agent session found for {directory}", "start the agent there, or see `clew sessions`"
        )
    return newest


def _from_environment(directory: str) -> CurrentSession | None:
    session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not session or "/" in session:
        return None
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    path = next(home.glob(f"projects/*/{glob.escape(session)}.jsonl"), None)
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
