"""Find the sessions on this computer, newest first, and the short id of each.

``places`` lists where each tool keeps its sessions, ``find_sessions`` looks there, ``short_id`` gives the
eight characters by which every command names a session (``4f2a91c0``).

Finding is cheap: the date and size of each file and, only for sessions that are requested, its first and last
kilobytes. ``profile.py`` reads whole sessions and caches what it finds.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from os import SEEK_END
from pathlib import Path
from typing import NamedTuple

from clew.message import Json, JsonObject
from clew.transcripts.fields import mapping, string, time_of
from clew.transcripts.formats import FORMATS
from clew.transcripts.messages import typed_text
from clew.transcripts.records import Entry, Start
from clew.transcripts.source import Source, open_source

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_EXTENSIONS = ("rooveterinaryinc.roo-cline", "saoudrizwan.claude-dev", "kilocode.kilo-code")
_REMOTE_EDITORS = (".vscode-server", ".cursor-server", ".windsurf-server")


class SessionPlace(NamedTuple):
    """A folder, and the file pattern of one format's sessions in it."""

    format: str
    folder: Path
    pattern: str
    is_database: bool = False
    """One file holds many sessions."""
    is_storage: bool = False
    """The folder as a whole is read; each of these files describes one of its sessions."""


@dataclass(frozen=True, slots=True)
class Computer:
    """What determines the places. The default is this computer and the current folder."""

    home: Path = field(default_factory=Path.home)
    directory: Path = field(default_factory=Path.cwd)
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    platform: str = sys.platform

    def folder(self, variable: str, *otherwise: str) -> Path:
        """Return the folder that a variable names, else one in the home folder."""
        name = self.variables.get(variable)
        return Path(name) if name else self.home.joinpath(*otherwise)

    @property
    def data(self) -> Path:
        """Return where programs keep their data."""
        return self.folder("XDG_DATA_HOME", ".local", "share")


def places(computer: Computer) -> Iterator[SessionPlace]:
    """Yield every place where sessions may be."""
    yield from _command_line_places(computer)
    yield from _database_places(computer)
    yield from _editor_places(computer)
    yield from _project_places(computer)


def _command_line_places(computer: Computer) -> Iterator[SessionPlace]:
    home = computer.home
    yield SessionPlace("claude-code", computer.folder("CLAUDE_CONFIG_DIR", ".claude"), "projects/*/*.jsonl")
    codex = computer.folder("CODEX_HOME", ".codex")
    yield SessionPlace("codex", codex, "sessions/*/*/*/rollout-*.jsonl*")
    yield SessionPlace("codex", codex, "archived_sessions/rollout-*.jsonl*")
    yield SessionPlace("copilot-cli", home / ".copilot", "session-state/*/events.jsonl")
    yield SessionPlace("copilot-cli", home / ".copilot", "session-state/*.jsonl")
    yield SessionPlace("qwen-code", home / ".qwen", "projects/*/chats/*.jsonl")
    yield SessionPlace("gemini-cli", home / ".gemini", "tmp/*/chats/session-*.json*")
    yield SessionPlace("pi", home / ".pi", "agent/sessions/*/*.jsonl")
    yield SessionPlace("openhands", home / ".openhands", "conversations/*/base_state.json")
    yield SessionPlace("cline", home / ".cline", "data/sessions/*/*.messages.json")


def _database_places(computer: Computer) -> Iterator[SessionPlace]:
    named = computer.variables.get("OPENCODE_DB")
    if named:
        path = Path(named)
        yield SessionPlace("opencode", path.parent, path.name, is_database=True)
    yield SessionPlace("opencode", computer.data / "opencode", "opencode.db", is_database=True)
    yield SessionPlace(
        "opencode", computer.data / "opencode" / "storage", "session/*/*.json", is_storage=True
    )
    yield SessionPlace("goose", computer.data / "goose", "sessions/sessions.db", is_database=True)
    if computer.platform == "win32":
        roaming = computer.folder("APPDATA", "AppData", "Roaming")
        yield SessionPlace(
            "goose", roaming / "Block" / "goose" / "data", "sessions/sessions.db", is_database=True
        )


def _editor_places(computer: Computer) -> Iterator[SessionPlace]:
    match computer.platform:
        case "darwin":
            settings = computer.home / "Library" / "Application Support"
        case "win32":
            settings = computer.folder("APPDATA", "AppData", "Roaming")
        case _:
            settings = computer.folder("XDG_CONFIG_HOME", ".config")
    folders = [settings / editor for editor in _EDITORS]
    folders += [computer.home / editor / "data" for editor in _REMOTE_EDITORS]
    for folder in folders:
        for extension in _EXTENSIONS:
            storage = folder / "User" / "globalStorage" / extension
            yield SessionPlace("roo-cline", storage, "tasks/*/api_conversation_history.json")


def _project_places(computer: Computer) -> Iterator[SessionPlace]:
    """Yield what tools keep inside a project: the current folder, its parents, and folders of the home."""
    near = (computer.directory, *computer.directory.parents)
    for folder in dict.fromkeys((*near, *_projects_in(computer.home))):
        yield SessionPlace("aider", folder, ".aider.chat.history.md")
        yield SessionPlace("specstory", folder, ".specstory/history/*.md")
        yield SessionPlace("crush", folder, ".crush/crush.db", is_database=True)


_PROJECT_TOOLS = ("aider", "specstory", "crush")
_PROJECT_MARKS = frozenset({".aider.chat.history.md", ".specstory", ".crush"})
_NO_PROJECTS = frozenset({"node_modules", "Library", "AppData", "venv", "site-packages"})
_DEEPEST = 3
"""Levels below the home folder where projects are searched for: ~/code/company/project."""
_MOST_FOLDERS = 1_000
"""Folders looked into at most, so that every command stays fast; those nearest to the home come first."""


def _projects_in(home: Path) -> Iterator[Path]:
    """Yield folders below the home folder that hold files of tools."""
    level, looked = [home], 0
    for _ in range(_DEEPEST + 1):
        inside: list[Path] = []
        for folder in level[: _MOST_FOLDERS - looked]:
            looked += 1
            try:
                with os.scandir(folder) as entries:
                    found = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
            except OSError:
                continue  # deleted, or not accessible
            if not _PROJECT_MARKS.isdisjoint(found):
                yield folder
            names = (name for name, is_folder in found.items() if is_folder and name[0] != ".")
            inside += (folder / name for name in sorted(names) if name not in _NO_PROJECTS)
        level = inside


HEAD_BYTES = 64 << 10
"""Bytes at the start of a file that are read for a title."""
TITLE_LENGTH = 80
_LOOKED_AT = 50
"""Records that are searched for a title."""
# Claude Code writes a session's title at the end of its file.
_TAIL_BYTES = {"claude-code": 16 << 10}
_FOLDERS = ("openhands",)
"""Formats whose sessions are folders: the file found in one only marks it."""
_NAMED_BY_FOLDER = frozenset({"events", "base_state", "api_conversation_history"})
"""File names that every session has; its id is the name of the folder."""
SHORT_ID_LENGTH = 8
LAST_SECOND = 253_402_300_799
"""The end of the year 9999; a file that was touched with milliseconds for seconds has a later time."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_TIME_ORDERED = ("1", "6", "7")
"""UUID versions that begin with the time: two sessions of one minute share their first characters."""
_RANDOM_ID = re.compile(r"ses_([0-9a-f]{8})|.*T\d\d-\d\d-([0-9a-f]{8})")
"""Ids of opencode, and file names of Gemini CLI, which hold the first characters of an id."""
# Of databases: the table of sessions; the columns, best first, with a title, a folder, a parent and a time.
_TABLES = {"opencode": "session", "goose": "sessions", "crush": "sessions"}
_TITLES = ("title", "name", "description")
_DIRECTORIES = ("directory", "working_dir")
_PARENTS = ("parent_id", "parent_session_id", "parentID")
_CHANGES = ("time_updated", "updated_at")


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session that was found."""

    format: str
    path: Path
    size: int
    """In bytes; of the whole file if it holds other sessions too."""
    modified: datetime
    session_id: str | None = None
    title: str | None = None
    """Its title, or the user's first words."""
    project: str | None = None
    """The folder it ran in."""

    @property
    def id(self) -> str:
        """Return the tool's id of the session, as far as it is known."""
        return self.session_id or file_id(self.path)

    @property
    def short_id(self) -> str:
        """Return the eight characters that every command accepts for this session."""
        own = self.id if self.in_database else file_id(self.path)
        return short_id(own, f"{self.format}:{self.path}")

    def open(self) -> Source:
        """Open it; from a database, only this session is read."""
        source = open_source(self.path)
        source.session = self.session_id if self.in_database else None
        return source

    @property
    def in_database(self) -> bool:
        """Return True if its file holds other sessions too."""
        return self.format in _TABLES and self.session_id is not None

    def is_named(self, name: str) -> bool:
        """Return True if a name refers to this session.

        A name is the short id, the tool's id or its first characters, the file's name or its first
        characters, each also with the tool in front (``codex:019d…``, ``copilot:4f2a…``).
        """
        tool, _, rest = name.removesuffix("…").partition(":")
        wanted = rest if rest and tool and self.format.startswith(tool) else name.removesuffix("…")
        names = (self.short_id, self.id, self.path.name, file_id(self.path))
        return bool(wanted) and any(name.lower().startswith(wanted.lower()) for name in names)


def short_id(session_id: str, place: str, *, hashed: bool = False) -> str:
    """Return eight characters that identify a session: of its id if random there, else of a hash."""
    match = None if hashed else _UUID.search(session_id)
    if match:
        return match[0][-SHORT_ID_LENGTH:] if match[1] in _TIME_ORDERED else match[0][:SHORT_ID_LENGTH]
    known_match = None if hashed else _RANDOM_ID.match(session_id)
    if known_match:
        return known_match[1] or known_match[2]
    named = f"{place}:{session_id}".encode("utf-8", "surrogateescape")
    return sha256(named).hexdigest()[:SHORT_ID_LENGTH]


_ENDINGS = re.compile(r"(?:\.(?:jsonl?|md|ya?ml|txt|log|traj|messages|zst|gz|xz|bz2|zip|bak|db|sqlite))+\Z")
"""Endings of the name of a session's file that say how it is written; "…upgrade-to-3.11.md" has one."""


def file_id(path: Path) -> str:
    """Return the id in a session's file name: its UUID if it has one, else the name.

    A hidden file has the same name in every project: its folder and a hash of its path tell them apart.
    """
    name = path.name
    if name.startswith("."):
        return f"{path.parent.name}-{sha256(os.fsencode(path)).hexdigest()[:SHORT_ID_LENGTH]}"
    name = _ENDINGS.sub("", name)
    name = path.parent.name if name in _NAMED_BY_FOLDER else name
    match = _UUID.search(name)
    return match[0] if match else name.removeprefix("rollout-")


def find_sessions(computer: Computer | None = None, *, titles: bool = True) -> Iterator[FoundSession]:
    """Yield the sessions of every tool, newest first. A title is looked up when its session is yielded.

    With ``titles=False`` no file is opened except databases.
    """
    here = computer or Computer()
    result: dict[tuple[Path | str, str | None], FoundSession] = {}
    for place in places(here):
        for session in _in_place(place):
            # opencode leaves its folder behind when it moves to a database.
            kept_in = session.format if session.in_database else session.path
            result.setdefault((kept_in, session.session_id), session)
    for session in sorted(result.values(), key=lambda session: session.modified, reverse=True):
        yield _with_head(session) if titles and session.session_id is None else session


def _in_place(place: SessionPlace) -> Iterator[FoundSession]:
    """Yield the sessions in one folder of a tool."""
    if not place.folder.is_dir():
        return
    for path in place.folder.glob(place.pattern):
        if place.format == "claude-code" and path.name.startswith("agent-"):
            continue  # a sub-agent's file, read with its session
        try:
            seen = path.stat()
        except OSError:
            continue  # deleted, or not accessible
        where = path.parent if place.format in _FOLDERS else path
        modified = datetime.fromtimestamp(min(seen.st_mtime, LAST_SECOND), UTC)
        project = str(place.folder) if place.format in _PROJECT_TOOLS else None
        session = FoundSession(place.format, where, seen.st_size, modified, project=project)
        if place.is_database:
            yield from _in_database(session)
        elif place.is_storage:
            yield from _in_storage(replace(session, path=place.folder), path)
        elif seen.st_size:
            yield session


def _in_database(file: FoundSession) -> Iterator[FoundSession]:
    """Yield the sessions of a database; the file itself if it cannot be opened."""
    from clew.transcripts.database import database_errors, open_database, rows

    try:
        with open_database(open_source(file.path)) as connection:
            sessions = list(rows(connection, f"SELECT * FROM {_TABLES[file.format]}"))
    except database_errors():
        yield file
        return
    for row in sessions:
        changed = next((row[key] for key in _CHANGES if row.get(key)), None)
        yield from _described(file, row, str(row.get("id")), changed)


def _in_storage(folder: FoundSession, path: Path) -> Iterator[FoundSession]:
    """Yield the session that a file of a folder describes."""
    from clew.transcripts.json_document import load

    info, _ = load(path)
    if isinstance(info, dict):
        changed = mapping(info, "time").get("updated")
        yield from _described(folder, info, string(info, "id") or path.stem, changed)


def _described(found: FoundSession, info: JsonObject, id_: str, changed: Json) -> Iterator[FoundSession]:
    """Yield the session that a row or file describes, unless it is a sub-agent's."""
    if not any(info.get(parent) for parent in _PARENTS):
        title, project = _first_string(info, _TITLES), _first_string(info, _DIRECTORIES)
        modified = _moment(changed, found.modified)
        yield replace(found, session_id=id_, title=title, project=project, modified=modified)


def _with_head(session: FoundSession) -> FoundSession:
    """Read the first kilobytes, and the last, for a title, a project and an id."""
    if session.path.is_dir():
        return replace(session, session_id=session.path.name)
    described = session
    glimpse = _glimpse(session.path, _TAIL_BYTES.get(session.format, 0))
    for record in islice(FORMATS[session.format].read(glimpse), _LOOKED_AT):
        if isinstance(record, Start):
            own = file_id(session.path)  # the first lines of a resumed session may name its parent
            own = own if _UUID.fullmatch(own) else record.session_id
            folder = record.directory or described.project
            described = replace(described, session_id=own, title=record.title, project=folder)
        elif isinstance(record, Entry) and record.sidechain is None and typed_text(record.message):
            words = " ".join(typed_text(record.message).split())
            return described if described.title else replace(described, title=words[:TITLE_LENGTH])
    return described


def _glimpse(path: Path, tail_bytes: int) -> Source:
    """Open the beginning of a file, and its end if needed."""

    def pieces() -> Iterator[bytes]:
        with path.open("rb") as file:
            yield file.read(HEAD_BYTES)
            rest = path.stat().st_size - HEAD_BYTES
            if tail_bytes and rest > 0:
                file.seek(-min(rest, tail_bytes), SEEK_END)
                yield b"\n"
                yield file.read()

    return Source(str(path), pieces)


def _first_string(row: JsonObject, keys: tuple[str, ...]) -> str | None:
    return next((text for key in keys if (text := string(row, key))), None)


def _moment(value: Json, otherwise: datetime) -> datetime:
    text = time_of(value)
    try:
        moment = datetime.fromisoformat(text) if text else otherwise
    except ValueError:
        return otherwise
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
