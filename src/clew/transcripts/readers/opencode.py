"""opencode: its database, its older folder of JSON files, and the output of ``opencode export``.

An export is
``{"info": {"id", "title", …}, "messages": [{"info": {"role", …}, "parts": [{"type": "text", …}, …]}, …]}``;
the tables ``session``, ``message`` and ``part`` hold the same objects. The newer table ``session_message``
holds one row per event; ``opencode_parts`` reads the older messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from clew.message import (
    Json,
    JsonObject,
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
    text_message,
)
from clew.transcripts.database import (
    columns_of,
    decode_column,
    has_tables,
    open_database,
    reports_damage,
    rows,
    sessions,
)
from clew.transcripts.fields import mapping, name_of, objects, string, time_of
from clew.transcripts.json_document import Element, Field, load, outline, walk
from clew.transcripts.messages import injected_message, media_from_url
from clew.transcripts.readers.opencode_parts import NAME, OpencodeSession, message_records, usage_of
from clew.transcripts.records import Boundary, Entry, Problem, Record, Start
from clew.transcripts.source import Source

if TYPE_CHECKING:
    import sqlite3


_PLAIN = re.compile(r"[\w.-]+")
_SESSION_TABLE = {"session": ("id", "project_id", "directory")}
_MESSAGE_TABLES = ("message", "session_message")
_SESSIONS = "SELECT * FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id"
_EVENTS = "SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY seq"


def sniff(source: Source) -> bool:
    """Return True for opencode's database, its storage folder, or an export."""
    if source.is_directory:
        return _storage(source) is not None
    if any(
        has_tables(source, {**_SESSION_TABLE, table: ("session_id", "data")}) for table in _MESSAGE_TABLES
    ):
        return True
    seen = outline(source)
    return "messages" in seen.keys and "projectID" in mapping(seen.fields, "info")


def read(source: Source) -> Iterator[Record]:
    """Read every session."""
    storage = _storage(source)
    if storage:
        return _read_storage(storage, source.session)
    if source.peek(6) == b"SQLite":
        return _read_database(source)
    return _read_export(source)


def _start(info: JsonObject, fallback: str) -> Start:
    return Start(
        string(info, "id") or fallback,
        NAME,
        title=string(info, "title"),
        directory=string(info, "directory"),
        model=string(mapping(info, "model"), "id"),
        time=time_of(info.get("time_created") or mapping(info, "time").get("created")),
        parent_id=string(info, "parent_id") or string(info, "parentID"),
    )


# An export -------------------------------------------------------------------------------------------


def _read_export(source: Source) -> Iterator[Record]:
    """Read the output of ``opencode export``."""
    session = OpencodeSession()
    info: JsonObject = {}
    started = False
    for piece in walk(source):
        match piece:
            case Field("info", dict() as result):
                info = result
            case Element("messages", index, dict() as message):
                if not started:
                    yield _start(info, name_of(source, ".json"))
                    started = True
                yield from message_records(session, mapping(message, "info"), message.get("parts"), index)
            case Element("messages", index, _):
                yield Problem("a message that is not an object", index)
            case Problem():
                yield piece
            case _:
                pass
    if info and not started:
        yield _start(info, name_of(source, ".json"))
    yield from session.reverted(mapping(info, "revert"))


# The database ----------------------------------------------------------------------------------------


@reports_damage
def _read_database(source: Source) -> Iterator[Record]:
    with open_database(source) as connection:
        has_messages, has_events = (bool(columns_of(connection, table)) for table in _MESSAGE_TABLES)
        for row in sessions(connection, _SESSIONS, source):
            yield _start({**row, "model": decode_column(row, "model")[0]}, "session")
            session = OpencodeSession()
            session_id = string(row, "id") or ""
            if has_messages:
                yield from _database_messages(connection, session, session_id)
            if has_events and not session.entries:  # while both tables are written, the older one is complete
                yield from _database_events(connection, session, session_id)
            revert, _ = decode_column(row, "revert")
            yield from session.reverted(revert if isinstance(revert, dict) else {})


def _database_messages(
    connection: sqlite3.Connection, session: OpencodeSession, session_id: str
) -> Iterator[Record]:
    for row in rows(connection, _MESSAGES, (session_id,)):
        info, problems = decode_column(row, "data")
        yield from problems
        parts: list[Json] = []
        for part_row in rows(connection, _PARTS, (str(row["id"]),)):
            part, problems = decode_column(part_row, "data")
            parts.append({"id": part_row["id"], **part} if isinstance(part, dict) else None)
            yield from problems
        if isinstance(info, dict):
            yield from message_records(session, {**info, "id": row["id"]}, parts, None)


def _database_events(
    connection: sqlite3.Connection, session: OpencodeSession, session_id: str
) -> Iterator[Record]:
    for row in rows(connection, _EVENTS, (session_id,)):
        event, problems = decode_column(row, "data")
        yield from problems
        if isinstance(event, dict):
            yield from event_records(session, {**event, "id": row["id"], "type": row["type"]})


# The older folder ------------------------------------------------------------------------------------


def _storage(source: Source) -> Path | None:
    """Return the folder with ``session``, ``message`` and ``part`` in it: this one, or one inside."""
    if not source.is_directory or source.path is None:
        return None
    for folder in (source.path, source.path / "storage"):
        if (folder / "session").is_dir() and (folder / "message").is_dir():
            return folder
    return None


def _read_storage(storage: Path, wanted: str | None) -> Iterator[Record]:
    """Read every session of the folder, or the wanted one."""
    for path in sorted((storage / "session").rglob("*.json")):
        if wanted is not None and path.stem != wanted:
            continue
        info, problems = load(path)
        yield from problems
        if not isinstance(info, dict):
            continue
        start = _start(info, path.stem)
        yield start
        session = OpencodeSession()
        # Their ids ascend with time.
        for i, message_path in enumerate(_files_in(storage / "message", start.session_id)):
            yield from _storage_message(storage, session, message_path, i)
        yield from session.reverted(mapping(info, "revert"))


def _storage_message(storage: Path, session: OpencodeSession, path: Path, line: int) -> Iterator[Record]:
    info, problems = load(path)
    yield from problems
    parts: list[Json] = []
    for part_path in _files_in(storage / "part", path.stem):
        part, problems = load(part_path)
        parts.append(part)
        yield from problems
    if isinstance(info, dict):
        yield from message_records(session, {"id": path.stem, **info}, parts, line)


def _files_in(folder: Path, name: str) -> list[Path]:
    """Return the files of a subfolder; an id that is not a plain name is never used as a path."""
    if name in ("", ".", "..") or not _PLAIN.fullmatch(name):
        return []
    return sorted(path for path in (folder / name).glob("*.json") if path.is_file() and not path.is_symlink())


# Events of the newer table -------------------------------------------------------------------------


_BOOKKEEPING = ("agent-switched", "model-switched")


def event_records(session: OpencodeSession, event: JsonObject) -> Iterator[Record]:
    """Read one row."""
    owner = string(event, "id") or "?"
    time = time_of(mapping(event, "time").get("created"))
    text = string(event, "text") or ""
    match event.get("type"):
        case "assistant":
            yield from _answer(session, owner, event, time)
        case "user":
            files = [_file(file, Trust.USER) for file in objects(event.get("files"))]
            parts = (Text(text, trust=Trust.USER), *files)
            yield Entry(Message(Role.USER, parts), session.entry_id(owner), time=time)
        case "system":
            yield Entry(text_message(Role.SYSTEM, text), session.entry_id(owner), time=time)
        case "synthetic":
            yield Entry(injected_message(text), session.entry_id(owner), time=time)
        case "shell":
            ran = f"$ {string(event, 'command')}\n{string(event, 'output') or ''}"
            yield Entry(injected_message(ran, Trust.UNTRUSTED), session.entry_id(owner), time=time)
        case "compaction":
            yield Boundary(f"{owner}:compaction", time=time, trigger=string(event, "reason"))
            summary = "\n\n".join(filter(None, (string(event, "summary"), string(event, "recent"))))
            yield Entry(text_message(Role.USER, summary, Origin.SUMMARY), session.entry_id(owner), time=time)
        case kind if kind in _BOOKKEEPING:
            pass
        case kind:
            yield Problem(f"a row of the unknown type {kind!r} ({owner})")


def _answer(session: OpencodeSession, owner: str, event: JsonObject, time: str | None) -> Iterator[Record]:
    """Yield the records of one reply of the model: its text and calls, then the results of the calls."""
    parts: list[Part] = []
    results: list[ToolResult] = []
    hidden: list[str] = []
    for content in objects(event.get("content")):
        match content.get("type"):
            case "text":
                parts.append(Text(string(content, "text") or "", trust=Trust.ASSISTANT))
            case "reasoning":
                parts.append(Thinking(string(content, "text") or "", trust=Trust.ASSISTANT))
            case "tool":
                call, result = _tool(session, content)
                parts.append(call)
                results += [result] if result else []
                hidden += [call.call_id] if "pruned" in mapping(content, "time") else []
            case kind:
                parts.append(Unknown(str(kind), trust=Trust.ASSISTANT, native=Native(NAME, content)))
                yield Problem(f"content of the unknown type {kind!r} ({owner}), kept unchanged")
    model, usage = string(mapping(event, "model"), "id"), usage_of(mapping(event, "tokens"))
    if parts:
        yield Entry(
            Message(Role.ASSISTANT, tuple(parts)),
            session.entry_id(owner),
            time=time,
            model=model,
            usage=usage,
        )
    if results:
        entry_id = session.entry_id(owner, ":results")
        yield Entry(Message(Role.TOOL, tuple(results)), entry_id, time=time, hidden_results=tuple(hidden))


def _tool(session: OpencodeSession, tool: JsonObject) -> tuple[ToolCall, ToolResult | None]:
    """Return the call of a tool, and its result; None while it runs."""
    state, name = mapping(tool, "state"), string(tool, "name") or "unknown"
    raw = state.get("input")
    call_id = session.call_ids.unique(string(tool, "id"), name)
    server_side = mapping(tool, "provider").get("executed") is True
    arguments = raw if isinstance(raw, dict | str) else {}
    call = ToolCall(call_id, name, arguments, server_side, trust=Trust.ASSISTANT)
    if state.get("status") not in ("completed", "error"):
        return call, None
    parts = [_output(content) for content in objects(state.get("content"))]
    error = string(mapping(state, "error"), "message")
    if error:
        parts.append(Text(error, trust=Trust.UNTRUSTED))
    failed = state.get("status") == "error"
    return call, ToolResult(call_id, tuple(parts), failed, name, server_side, trust=Trust.UNTRUSTED)


def _output(content: JsonObject) -> Part:
    text = string(content, "text")
    if content.get("type") == "text" and text is not None:
        return Text(text, trust=Trust.UNTRUSTED)
    return _file(content, Trust.UNTRUSTED)


def _file(file: JsonObject, trust: Trust) -> Part:
    address = string(file, "uri") or string(file, "url") or string(file, "data")
    if not address:
        return Unknown(str(file.get("type")), trust=trust, native=Native(NAME, file))
    mime = string(file, "mime") or string(file, "mediaType")
    return media_from_url(address, mime, trust, string(file, "name") or string(file, "filename"))
