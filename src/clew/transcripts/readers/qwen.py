"""Qwen Code: ``~/.qwen/projects/<project>/chats/<session>.jsonl``; records in a tree, parts like Gemini's.

``{"uuid": "b", "parentUuid": "a", "type": "user", "message": {"parts": [{"text": "Fix it"}]}}``. Each
record's parent is the one written before it. If it is an older one, the user went back to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from clew.message import JsonObject, Message, Origin, Role, Text, ToolResult, Trust, Usage
from clew.providers.gemini import parse_item
from clew.transcripts.fields import Ids, count, mapping, name_of, objects, string
from clew.transcripts.jsonl import head_objects, read_objects
from clew.transcripts.messages import relabel, typed_message
from clew.transcripts.records import Boundary, Dropped, Entry, Problem, Record, Start
from clew.transcripts.source import Source

FORMAT = "qwen-code"
_TYPES = ("user", "assistant", "tool_result", "system")
_PERSONS = (None, "mid_turn_user_message")
_COMPRESSED = (None, 1, "COMPRESSED", "completed")


def sniff(source: Source) -> float:
    """Recognise the records by their tree and by messages that hold parts."""
    head = [record for record in head_objects(source) if "sessionId" in record and "uuid" in record]
    return any("parts" in mapping(record, "message") or "systemPayload" in record for record in head)


def read(source: Source) -> Iterator[Record]:
    """Read a session: messages, compressions, rewinds."""
    return read_objects(source, _QwenChat(name_of(source, ".jsonl")).record)


@dataclass(slots=True)
class _QwenChat:
    """Reads a session record by record."""

    fallback_id: str
    started: bool = False
    ids: Ids = field(default_factory=Ids)
    live: list[str] = field(default_factory=list)
    """The current entries and compactions, in order."""
    places: dict[str, int] = field(default_factory=dict)
    """For each record, the length of ``live`` after it."""
    unknown: set[str] = field(default_factory=set)

    def record(self, record: JsonObject, number: int) -> Iterator[Record]:
        """Read one record."""
        if not self.started:
            self.started = True
            yield self._start(record)
        kind, agent_id = string(record, "type") or "", _agent_id(record)
        if agent_id is None:
            yield from self._rewound(record, number)
        if kind == "system":
            yield from self._system(record, number, agent_id)
        elif kind in _TYPES:
            yield from self._add_entry(_message(record, agent_id), record, number)
        elif kind not in self.unknown:
            self.unknown.add(kind)
            yield Problem(f"a record of the unknown type {kind!r}", number)
        if agent_id is None:
            self.places[string(record, "uuid") or ""] = len(self.live)

    def _start(self, record: JsonObject) -> Start:
        parent = string(mapping(record, "forkedFrom"), "sessionId")
        return Start(
            string(record, "sessionId") or self.fallback_id,
            FORMAT,
            directory=string(record, "cwd"),
            model=string(record, "model"),
            time=string(record, "timestamp"),
            parent_id=parent,
        )

    def _rewound(self, record: JsonObject, number: int) -> Iterator[Record]:
        """Yield a ``Dropped`` for what followed the record's parent: the user went back to it."""
        place = self.places.get(string(record, "parentUuid") or "")
        if place is not None and place < len(self.live) and string(record, "uuid") not in self.places:
            dropped = tuple(self.live[place:])
            del self.live[place:]
            yield Dropped(dropped, number)

    def _add_entry(self, message: Message, record: JsonObject, number: int) -> Iterator[Record]:
        if not message.parts:
            return
        agent_id = _agent_id(record)
        entry_id = self.ids.unique(string(record, "uuid"), f"L{number}")
        entry = Entry(message, entry_id, number, string(record, "timestamp"), sidechain=agent_id)
        if message.role is Role.ASSISTANT:
            usage = _usage(mapping(record, "usageMetadata"))
            entry = replace(entry, model=string(record, "model"), usage=usage)
        if agent_id is None:
            self.live.append(entry_id)
        yield entry

    def _system(self, record: JsonObject, number: int, agent_id: str | None) -> Iterator[Record]:
        """Read a system record: a compression is a boundary, followed by the new history."""
        if record.get("subtype") != "chat_compression" or agent_id is not None:
            return
        payload = mapping(record, "systemPayload")
        info = mapping(payload, "info")
        if info.get("compressionStatus") not in _COMPRESSED:
            return
        boundary_id = self.ids.unique(string(record, "uuid"), f"L{number}")
        time = string(record, "timestamp")
        self.live.append(boundary_id)
        yield Boundary(
            boundary_id,
            number,
            time,
            string(info, "triggerReason"),
            count(info, "originalTokenCount") or None,
            count(info, "newTokenCount") or None,
        )
        for i, item in enumerate(objects(payload.get("compressedHistory")), start=1):
            message = relabel(parse_item(item), Origin.SUMMARY)
            self.live.append(f"L{number}.{i}")
            yield Entry(message, f"L{number}.{i}", number, time)


def _agent_id(record: JsonObject) -> str | None:
    if record.get("isSidechain") is True:
        return string(record, "agentId") or "sidechain"
    return string(record, "agentId")


def _message(record: JsonObject, agent_id: str | None) -> Message:
    """Return the message of a record; text in the user's role that no person typed is labelled."""
    message = parse_item(mapping(record, "message"))
    if record.get("type") == "tool_result" and not any(message.results):
        return _result(record, message)
    if message.role is not Role.USER:
        return message
    is_typed = string(record, "subtype") in _PERSONS and string(record, "provenance") in (None, "real_user")
    if agent_id is not None or not is_typed:
        return relabel(message, Origin.INJECTED)
    typed = string(mapping(record, "systemPayload"), "displayText")
    return typed_message(message.text, typed) if typed and typed != message.text else message


def _result(record: JsonObject, message: Message) -> Message:
    """Return a result that is in the record instead of in its message."""
    answer = mapping(record, "toolCallResult")
    text = message.text or string(answer, "result") or string(answer, "resultDisplay") or ""
    failed = answer.get("status") in ("error", "failed")
    call_id = string(answer, "callId") or ""
    result = ToolResult(call_id, (Text(text),), failed, string(answer, "name"), trust=Trust.UNTRUSTED)
    return Message(Role.TOOL, (result,))


def _usage(usage: JsonObject) -> Usage | None:
    total, output = count(usage, "promptTokenCount"), count(usage, "candidatesTokenCount")
    if not total and not output:
        return None
    thoughts = count(usage, "thoughtsTokenCount")
    return Usage(total, output + thoughts, cache_read_tokens=count(usage, "cachedContentTokenCount"))
