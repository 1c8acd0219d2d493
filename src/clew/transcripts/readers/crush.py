"""Crush: a SQLite database of sessions in each project's folder (``.crush/crush.db``).

A message is a row whose column ``parts`` holds ``[{"type": "text", "data": {"text": "Fix it"}}, …]``; the
summary of a compaction is a message that its session names, or that is marked as one.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from clew.transcripts.fields import mapping, objects, string, time_of
from clew.transcripts.messages import MACHINE_TRUST, image_from_url, media_kind, relabel, user_message
from clew.transcripts.records import Boundary, Entry, Record, Start
from clew.transcripts.source import Source

if TYPE_CHECKING:
    import sqlite3

NAME = "crush"
_SESSIONS = "SELECT * FROM sessions ORDER BY created_at, id"
_MESSAGES = "SELECT * FROM messages WHERE session_id = ? ORDER BY created_at, rowid"
_ROLES = {"assistant": Role.ASSISTANT, "system": Role.SYSTEM, "tool": Role.TOOL}


def sniff(source: Source) -> bool:
    """Return True for Crush's database."""
    return has_tables(source, {"sessions": ("id", "message_count"), "messages": ("session_id", "parts")})


@reports_damage
def read(source: Source) -> Iterator[Record]:
    """Read every session."""
    with open_database(source) as connection:
        for session in sessions(connection, _SESSIONS, source):
            session_id = string(session, "id") or ""
            yield Start(
                session_id,
                NAME,
                title=string(session, "title"),
                time=time_of(session.get("created_at")),
                parent_id=string(session, "parent_session_id"),
            )
            yield from _messages(connection, session_id, string(session, "summary_message_id"))


def _messages(connection: sqlite3.Connection, session_id: str, summary_id: str | None) -> Iterator[Record]:
    for row in rows(connection, _MESSAGES, (session_id,)):
        content, problems = decode_column(row, "parts")
        yield from problems
        entry_id, time = str(row.get("id")), time_of(row.get("created_at"))
        message = _message(str(row.get("role")), content)
        if row.get("is_summary_message") == 1 or entry_id == summary_id:
            yield Boundary(f"{entry_id}:boundary", time=time)
            message = relabel(message, Origin.SUMMARY)
        if message.parts:
            yield Entry(message, entry_id, time=time, model=string(row, "model"))


def _message(speaker: str, content: Json) -> Message:
    role = _ROLES.get(speaker, Role.USER)
    trust = trust_of(role)
    parts = tuple(part for block in objects(content) if (part := _part(block, trust)))
    if role is Role.USER:
        return user_message(parts) if speaker == "user" else relabel(Message(role, parts), Origin.INJECTED)
    return Message(role, parts)


def _part(block: JsonObject, trust: Trust) -> Part | None:
    """Read one block: ``{"type": "tool_call", "data": {"id", "name", "input"}}``; None if it says nothing."""
    content = mapping(block, "data")
    match block.get("type"):
        case "text":
            text = string(content, "text")
            return Text(text, trust=trust) if text else None
        case "reasoning":
            signature = string(content, "signature") or string(content, "thought_signature")
            return Thinking(string(content, "thinking") or "", signature, trust=trust)
        case "tool_call":
            name, value = string(content, "name") or "unknown", string(content, "input") or ""
            ran_there = content.get("provider_executed") is True
            return ToolCall(string(content, "id") or "", name, value, ran_there, trust=trust)
        case "tool_result":
            return _result(content)
        case "image_url":
            return image_from_url(string(content, "url") or "", trust)
        case "binary":
            media_type, path = string(content, "MIMEType"), string(content, "Path")
            return Media(media_kind(media_type), media_type, string(content, "Data"), title=path, trust=trust)
        case "shell_command":
            ran = f"$ {string(content, 'command') or ''}\n{string(content, 'output') or ''}"
            return Text(ran, trust=Trust.UNTRUSTED)
        case "finish":
            return None
        case kind:
            return Unknown(str(kind), trust=min(trust, MACHINE_TRUST), native=Native(NAME, block))


def _result(content: JsonObject) -> ToolResult:
    parts: list[Part] = []
    text, data = string(content, "content"), string(content, "data")
    if text:
        parts.append(Text(text, trust=Trust.UNTRUSTED))
    if data:
        media_type = string(content, "mime_type")
        parts.append(Media(media_kind(media_type), media_type, data, trust=Trust.UNTRUSTED))
    failed = content.get("is_error") is True
    call_id, name = string(content, "tool_call_id") or "", string(content, "name")
    return ToolResult(call_id, tuple(parts), failed, name, trust=Trust.UNTRUSTED)
