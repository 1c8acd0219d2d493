"""The sessions on this computer, newest first.

Finding is cheap: a look at each file's date and size, then, only for those that are asked for, at its first
kilobytes and its last. No session is read whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from os import SEEK_END
from pathlib import Path

from clew.message import Json, JsonObject
from clew.transcripts.fields import string, time_of
from clew.transcripts.formats import FORMATS
from clew.transcripts.places import Computer, Place, places
from clew.transcripts.records import Entry, Start
from clew.transcripts.source import Source, open_source
from clew.transcripts.typed import typed_words

HEAD_BYTES = 64 << 10
TITLE_LENGTH = 80
_LOOKED_AT = 50
# Claude Code writes a session's title behind all else.
_TAIL_BYTES = {"claude-code": 16 << 10}
_FOLDERS = ("openhands",)
_TABLES = {"opencode": "session", "goose": "sessions", "crush": "sessions"}
_TITLES = ("title", "name", "description")
_DIRECTORIES = ("directory", "working_dir")
_PARENTS = ("parent_id", "parent_session_id")
_CHANGES = ("time_updated", "updated_at")


@dataclass(frozen=True, slots=True)
class Found:
    """A session that was found."""

    format: str
    path: Path
    size: int
    """In bytes; of the whole file, where it holds other sessions too."""
    modified: datetime
    session_id: str | None = None
    title: str | None = None
    """Its title, or the first words of the person."""
    project: str | None = None
    """The folder it was held in."""


def find_sessions(computer: Computer | None = None) -> Iterator[Found]:
    """Yield the sessions of every tool, newest first. A title is looked up when its session is yielded."""
    here = computer or Computer()
    found: dict[tuple[Path, str | None], Found] = {}
    for place in places(here):
        for session in _in_place(place):
            found.setdefault((session.path, session.session_id), session)
    for session in sorted(found.values(), key=lambda session: session.modified, reverse=True):
        yield session if session.session_id is not None else _with_head(session)


def _in_place(place: Place) -> Iterator[Found]:
    if not place.folder.is_dir():
        return
    for path in place.folder.glob(place.pattern):
        if place.format == "claude-code" and path.name.startswith("agent-"):
            continue  # a sub-agent's; its session tells of it
        try:
            seen = path.stat()
        except OSError:
            continue  # gone, or not ours to see
        where = path.parent if place.format in _FOLDERS else path
        modified = datetime.fromtimestamp(seen.st_mtime, UTC)
        session = Found(place.format, where, seen.st_size, modified)
        if place.is_database:
            yield from _in_database(session)
        elif seen.st_size:
            yield session


def _in_database(file: Found) -> Iterator[Found]:
    """Yield the sessions of a database; the file itself where it cannot be looked into."""
    from clew.transcripts.database import errors, opened, rows

    try:
        with opened(open_source(file.path)) as connection:
            sessions = list(rows(connection, f"SELECT * FROM {_TABLES[file.format]}"))
    except errors():
        yield file
        return
    for row in sessions:
        if not any(row.get(parent) for parent in _PARENTS):
            yield replace(
                file,
                session_id=str(row.get("id")),
                title=_first(row, _TITLES),
                project=_first(row, _DIRECTORIES),
                modified=_moment(next((row[key] for key in _CHANGES if row.get(key)), None), file.modified),
            )


def _with_head(session: Found) -> Found:
    """Look at the first kilobytes, and the last, for a title, a project and an id."""
    if session.path.is_dir():
        return replace(session, session_id=session.path.name)
    found = session
    glimpse = _glimpse(session.path, _TAIL_BYTES.get(session.format, 0))
    for record in islice(FORMATS[session.format].read(glimpse), _LOOKED_AT):
        if isinstance(record, Start):
            found = replace(found, session_id=record.session_id, title=record.title, project=record.directory)
        elif isinstance(record, Entry) and record.sidechain is None and typed_words(record.message):
            words = " ".join(typed_words(record.message).split())
            return found if found.title else replace(found, title=words[:TITLE_LENGTH])
    return found


def _glimpse(path: Path, tail_bytes: int) -> Source:
    """Open the beginning of a file, and its end where something is to be found there."""

    def pieces() -> Iterator[bytes]:
        with path.open("rb") as file:
            yield file.read(HEAD_BYTES)
            rest = path.stat().st_size - HEAD_BYTES
            if tail_bytes and rest > 0:
                file.seek(-min(rest, tail_bytes), SEEK_END)
                yield b"\n"
                yield file.read()

    return Source(str(path), pieces)


def _first(row: JsonObject, keys: tuple[str, ...]) -> str | None:
    return next((text for key in keys if (text := string(row, key))), None)


def _moment(value: Json, otherwise: datetime) -> datetime:
    text = time_of(value)
    try:
        moment = datetime.fromisoformat(text) if text else otherwise
    except ValueError:
        return otherwise
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
