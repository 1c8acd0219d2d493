"""Notes that the hook and the MCP server of one session share: small files in clew's own folder.

A note holds which session a host process works on, what must stay in view after its last compaction, and the
user's changes to its rules. It is written atomically.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from tempfile import NamedTemporaryFile

from clew.settings import clew_home

MOST_NOTES = 200
"""At most this many notes are kept, a few kilobytes each; older ones are removed."""
LOG_BYTES = 256 << 10


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
    """Write a note, replacing the session's last one."""
    path = _path(note.tool, note.session)
    is_new = not path.exists()
    write_whole(path, json.dumps(asdict(replace(note, time=time.time())), ensure_ascii=False).encode())
    if is_new:
        _forget_old(path.parent)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically, keeping the mode of an existing one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(data)
    Path(file.name).chmod(mode)
    Path(file.name).replace(path)


def _forget_old(folder: Path) -> None:
    notes = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in notes[MOST_NOTES:]:
        path.unlink(missing_ok=True)


def newest_note(directory: str, host_pid: int) -> SessionNote | None:
    """Return the note of the host process that also started us, or the newest of a folder."""
    notes = [note for path in (hosts_home() / "notes").glob("*.json") if (note := _read(path))]
    notes.sort(key=lambda note: note.time, reverse=True)
    same_host = (note for note in notes if note.host_pid == host_pid and note.directory == directory)
    return next(same_host, next((note for note in notes if note.directory == directory), None))


def log_failure(what: str) -> None:
    """Add a line to the hook's log; errors are ignored."""
    try:
        path = hosts_home() / "hook.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".log.old"))
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {os.getpid()} {what.rstrip()}\n")
    except OSError:
        return
