"""goose: a SQLite database of sessions. Rows that its model no longer sees stay, marked as not visible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from clew.message import Message, Origin, Role
from clew.transcripts.database import decoded, has_tables, opened, reported, rows, sessions
from clew.transcripts.fields import Allowance, Ids, string, time_of
from clew.transcripts.labels import relabelled
from clew.transcripts.readers.goose_words import message_of
from clew.transcripts.records import Boundary, Entry, Problem, Record, Start
from clew.transcripts.source import Source

if TYPE_CHECKING:
    import sqlite3

NAME = "goose"
_SESSIONS = "SELECT * FROM sessions ORDER BY created_at, id"
_MESSAGES = "SELECT * FROM messages WHERE session_id = ? ORDER BY id"


def sniff(source: Source) -> bool:
    """Return True for goose's database."""
    return has_tables(source, {"sessions": ("id", "working_dir"), "messages": ("session_id", "content_json")})


def read(source: Source) -> Iterator[Record]:
    """Read every session."""
    return reported(_read(source))


def _read(source: Source) -> Iterator[Record]:
    with opened(source) as connection:
        for session in sessions(connection, _SESSIONS, source):
            model, _ = decoded(session, "model_config_json")
            session_id = string(session, "id") or ""
            yield Start(
                session_id,
                NAME,
                title=string(session, "name") or string(session, "description"),
                directory=string(session, "working_dir"),
                model=string(model, "model_name") if isinstance(model, dict) else None,
                time=time_of(session.get("created_at")),
            )
            talk = _Talk()
            for row, following in pairwise(chain(_rows(connection, session_id), (None,))):
                if isinstance(row, _Row):
                    yield from talk.records(row, following if isinstance(following, _Row) else None)
                elif row:
                    yield row


@dataclass(frozen=True, slots=True)
class _Row:
    """One message, and who sees it now."""

    number: str
    id: str | None
    message: Message
    time: str | None
    is_seen: bool
    """Visible to the model."""
    is_shown: bool
    """Visible to the user."""


def _rows(connection: sqlite3.Connection, session_id: str) -> Iterator[_Row | Problem]:
    for row in rows(connection, _MESSAGES, (session_id,)):
        content, problem = decoded(row, "content_json")
        metadata, _ = decoded(row, "metadata_json")
        marks = metadata if isinstance(metadata, dict) else {}
        if problem:
            yield problem
        message = message_of(str(row.get("role")), content)
        if message.parts:
            yield _Row(
                str(row.get("id")),
                string(row, "message_id"),
                message,
                time_of(row.get("created_timestamp")),
                marks.get("agentVisible") is not False,
                marks.get("userVisible") is not False,
            )


@dataclass(slots=True)
class _Talk:
    """Reads a session's rows in order.

    A compaction marks the rows before it as not visible to the model and adds rows that only the model sees:
    a summary in the user's role, and a short reply. A later compaction hides these too.
    """

    ids: Ids = field(default_factory=Ids)
    seen: list[str] = field(default_factory=list)
    allowance: Allowance = field(default_factory=Allowance)

    def records(self, row: _Row, following: _Row | None) -> Iterator[Record]:
        """Read one row."""
        entry_id = self.ids.unique(row.id, f"row-{row.number}")
        message = row.message
        if _is_summary(row, following):
            follows = row.is_seen and self.allowance.covers(len(self.seen))
            keeps = tuple(self.seen) if follows else ()
            yield Boundary(f"{entry_id}:boundary", time=row.time, keeps=keeps)
            message = relabelled(message, Origin.SUMMARY)
        elif not row.is_shown and message.role is not Role.USER:
            message = relabelled(message, Origin.INJECTED)
        if row.is_seen:
            self.seen.append(entry_id)
        yield Entry(message, entry_id, time=row.time)
        yield from self.ids.repeated(row.id, None)


def _is_summary(row: _Row, following: _Row | None) -> bool:
    """Return True for a summary, as opposed to the other message that the user does not see.

    That is the user's last message before a compaction: goose hides it and repeats it afterwards.
    """
    if row.is_shown or row.message.role is not Role.USER:
        return False
    repeated_later = following is not None and following.message.role is Role.USER and not following.is_shown
    return row.is_seen or not repeated_later
