"""goose: a SQLite database of sessions. Rows that its model no longer sees stay, marked as not visible.

A message is a row with ``content_json`` (``[{"type": "text", "text": "Fix it"}, …]``) and ``metadata_json``
(``{"agentVisible": false, "userVisible": true}`` after a compaction).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from clew.message import (
    Json,
    JsonObject,
    Media,
    Message,
    Native,
    Origin,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    Unknown,
    trust_of,
)
from clew.transcripts.database import decode_column, has_tables, open_database, reports_damage, rows, sessions
from clew.transcripts.fields import Ids, NameLimit, mapping, objects, string, time_of
from clew.transcripts.messages import media_kind, relabel
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


@reports_damage
def read(source: Source) -> Iterator[Record]:
    """Read every session."""
    with open_database(source) as connection:
        for session in sessions(connection, _SESSIONS, source):
            model, _ = decode_column(session, "model_config_json")
            session_id = string(session, "id") or ""
            yield Start(
                session_id,
                NAME,
                title=string(session, "name") or string(session, "description"),
                directory=string(session, "working_dir"),
                model=string(model, "model_name") if isinstance(model, dict) else None,
                time=time_of(session.get("created_at")),
            )
            talk = _GooseSession()
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
    """Yield the messages of a session in order, and problems."""
    for row in rows(connection, _MESSAGES, (session_id,)):
        content, problems = decode_column(row, "content_json")
        metadata, _ = decode_column(row, "metadata_json")
        marks = metadata if isinstance(metadata, dict) else {}
        yield from problems
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
class _GooseSession:
    """Reads a session's rows in order.

    A compaction marks the rows before it as not visible to the model and adds rows that only the model sees:
    a summary in the user's role, and a short reply. A later compaction hides these too.
    """

    ids: Ids = field(default_factory=Ids)
    seen: list[str] = field(default_factory=list)
    allowance: NameLimit = field(default_factory=NameLimit)

    def records(self, row: _Row, following: _Row | None) -> Iterator[Record]:
        """Read one row."""
        entry_id = self.ids.unique(row.id, f"row-{row.number}")
        message = row.message
        if _is_summary(row, following):
            follows = row.is_seen and self.allowance.covers(len(self.seen))
            keeps = tuple(self.seen) if follows else ()
            yield Boundary(f"{entry_id}:boundary", time=row.time, keeps=keeps)
            message = relabel(message, Origin.SUMMARY)
        elif not row.is_shown and message.role is not Role.USER:
            message = relabel(message, Origin.INJECTED)
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


# One message ---------------------------------------------------------------------------------------


_SCREEN_ONLY = ("systemNotification", "actionRequired", "toolConfirmationRequest")


def message_of(speaker: str, content: Json) -> Message:
    """Parse one message; blocks that only the screen shows are left out."""
    role = Role.ASSISTANT if speaker == "assistant" else Role.USER
    trust = trust_of(role)
    blocks = (block for block in objects(content) if block.get("type") not in _SCREEN_ONLY)
    parts = tuple(_part(block, trust) for block in blocks)
    if role is Role.USER and parts and all(isinstance(part, ToolResult) for part in parts):
        role = Role.TOOL
    return Message(role, parts)


def _part(block: JsonObject, trust: Trust) -> Part:
    """Read one block of a message or of a tool's output."""
    match block.get("type"):
        case "text":
            return Text(string(block, "text") or "", trust=trust)
        case "image":
            media_type = string(block, "mimeType")
            return Media(media_kind(media_type), media_type, string(block, "data"), trust=trust)
        case "thinking" | "reasoning":
            text = string(block, "thinking") or string(block, "text") or ""
            return Thinking(text, string(block, "signature"), trust=trust)
        case "redactedThinking":
            return Thinking("", string(block, "data"), redacted=True, trust=trust)
        case "toolRequest" | "frontendToolRequest":
            return _call(block, trust)
        case "toolResponse":
            return _result(block)
        case kind:
            return Unknown(str(kind), trust=trust, native=Native(NAME, block))


def _call(block: JsonObject, trust: Trust) -> ToolCall:
    call = mapping(block, "toolCall")
    data = mapping(call, "value")
    raw = data.get("arguments")
    # A call that goose could not parse has an error instead of a name.
    name = string(data, "name") or "unknown"
    arguments = raw if isinstance(raw, dict | str) else {}
    return ToolCall(string(block, "id") or "", name, arguments, trust=trust)


def _result(block: JsonObject) -> ToolResult:
    result = mapping(block, "toolResult")
    value, error = result.get("value"), string(result, "error")
    content = value.get("content") if isinstance(value, dict) else value
    parts = tuple(_output(content))
    if error:
        parts = (*parts, Text(error, trust=Trust.UNTRUSTED))
    failed = result.get("status") == "error" or mapping(result, "value").get("isError") is True
    return ToolResult(string(block, "id") or "", parts, failed, trust=Trust.UNTRUSTED)


def _output(content: Json) -> Iterator[Part]:
    """Parse a tool's output: blocks of the Model Context Protocol."""
    for block in objects(content):
        text = string(block, "text") or string(mapping(block, "resource"), "text")
        if text is not None:
            yield Text(text, trust=Trust.UNTRUSTED)
        else:
            yield _part(block, Trust.UNTRUSTED)
