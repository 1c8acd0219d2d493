"""Gemini CLI: appended lines that may replace earlier ones, or the older single JSON object.

A message written again replaces its earlier form. Compression and masking are stored as a checkpoint
(``$set.messages``): the lines before it still hold the originals.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TypeAlias

from clew.message import JsonObject
from clew.transcripts.fields import mapping, name_of, string, time_of
from clew.transcripts.json_document import Element, Field, is_lines, outline, walk
from clew.transcripts.jsonl import ObjectLine, head_objects, object_lines
from clew.transcripts.readers.gemini_chat import Chat
from clew.transcripts.records import Problem, Record, Start
from clew.transcripts.source import Source

NAME = "gemini-cli"
_Key: TypeAlias = tuple[int, str]


def sniff(source: Source) -> bool:
    """Return True if the first object has a session id and a project hash, as only this tool writes."""
    if source.is_directory:
        return False
    heads = head_objects(source, 1) if is_lines(source) else [outline(source).fields]
    return bool(heads) and {"sessionId", "projectHash"} <= heads[0].keys()


def read(source: Source) -> Iterator[Record]:
    """Read a session."""
    if is_lines(source):
        return _read_lines(source)
    return _read_document(source)


def _start(header: JsonObject, source: Source) -> Start:
    folder = source.path.parent.name if source.path else "chats"
    is_subagent = header.get("kind") == "subagent" and folder != "chats"
    return Start(
        string(header, "sessionId") or name_of(source, ".jsonl", ".json"),
        NAME,
        title=string(header, "summary"),
        time=time_of(header.get("startTime")),
        parent_id=folder if is_subagent else None,
    )


def _read_document(source: Source) -> Iterator[Record]:
    chat = Chat()
    header: JsonObject = {}
    started = False
    for piece in walk(source):
        match piece:
            case Field(key, value):
                header[key] = value
            case Element("messages", index, message):
                if not started:
                    yield _start(header, source)
                    started = True
                yield from chat.message(message if isinstance(message, dict) else {}, index)
            case Problem():
                yield piece
            case _:
                pass
    if header and not started:
        yield _start(header, source)


def _read_lines(source: Source) -> Iterator[Record]:
    chat = Chat()
    started = False
    for line in _final_lines(source.keep()):
        if isinstance(line, Problem):
            yield line
            continue
        is_header = "sessionId" in line.value and "id" not in line.value
        if not started:
            yield _start(line.value if is_header else {}, source)
            started = True
        yield from chat.line(line.value, line.number, is_header)


def _final_lines(source: Source) -> Iterator[ObjectLine | Problem]:
    """Yield every line, but a rewritten message only once: at its first position, in its last form.

    Lines between the two are held back; the tool rewrites only the newest message, so they are few.
    """
    last: dict[_Key, int] = {}
    for key, line in _with_keys(source):
        if key and isinstance(line, ObjectLine):
            last[key] = line.number
    waiting: deque[list[ObjectLine | Problem]] = deque()
    places: dict[_Key, list[ObjectLine | Problem]] = {}
    for key, line in _with_keys(source):
        if key and isinstance(line, ObjectLine) and last[key] != line.number:
            if key not in places:
                places[key] = []
                waiting.append(places[key])
        elif key in places:
            places.pop(key).append(line)
        else:
            waiting.append([line])
        while waiting and waiting[0]:
            yield waiting.popleft()[0]


def _with_keys(source: Source) -> Iterator[tuple[_Key | None, ObjectLine | Problem]]:
    """Yield each line with its message key: the id, and the number of checkpoints and rewinds before."""
    resets = 0
    for line in object_lines(source):
        key = None
        if isinstance(line, ObjectLine):
            message_id = string(line.value, "id")
            key = (resets, message_id) if message_id else None
            resets += "$rewindTo" in line.value or "messages" in mapping(line.value, "$set")
        yield key, line
