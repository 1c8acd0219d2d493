"""Writes small Claude Code files for tests."""

from __future__ import annotations

import itertools
import json

from clew.message import Message, Text
from clew.transcripts.readers.claude_code.reader import read
from clew.transcripts.records import Dropped, Entry, Record
from clew.transcripts.source import open_source


class Lines:
    """A file in the making: each record's parent is the one before it, unless it says otherwise."""

    def __init__(self, session: str = "s1") -> None:
        self.session = session
        self.records: list[dict] = []
        self.last: str | None = None
        self._number = itertools.count(1)

    def add(self, kind: str, *, parent: str | None = "last", uuid: str | None = None, **fields) -> str:
        uuid = uuid or f"{kind[0]}{next(self._number)}"
        above = self.last if parent == "last" else parent
        self.records.append(
            {"type": kind, "uuid": uuid, "parentUuid": above, "sessionId": self.session, **fields}
        )
        self.last = uuid
        return uuid

    def user(self, content, **fields) -> str:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def says(self, text: str, message_id: str, **fields) -> str:
        return self.reply({"type": "text", "text": text}, message_id, **fields)

    def calls(self, call_id: str, message_id: str, name: str = "Bash", **fields) -> str:
        return self.reply(
            {"type": "tool_use", "id": call_id, "name": name, "input": {}}, message_id, **fields
        )

    def reply(self, block: dict, message_id: str, model: str = "claude-x", **fields) -> str:
        message = {"id": message_id, "role": "assistant", "model": model, "content": [block]}
        return self.add("assistant", message=message, **fields)

    def answers(self, call_id: str, output: str = "done", is_error: bool = False, **fields) -> str:
        block = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": is_error}
        return self.user([block], **fields)

    def note(self, kind: str, **fields) -> None:
        """Add a record that is not in the tree."""
        self.records.append({"type": kind, "sessionId": self.session, **fields})

    def bytes(self) -> bytes:
        return b"".join(json.dumps(record).encode() + b"\n" for record in self.records)

    def read(self) -> list[Record]:
        return list(read(open_source(self.bytes(), "test.jsonl")))


def entries(records: list[Record]) -> list[Entry]:
    return [record for record in records if isinstance(record, Entry)]


def standing(records: list[Record]) -> list[str]:
    """Return the ids of the main conversation, without what was dropped."""
    gone = {id_ for record in records if isinstance(record, Dropped) for id_ in record.ids}
    return [entry.id for entry in entries(records) if entry.sidechain is None and entry.id not in gone]


def labels(message: Message) -> list[tuple[str, str]]:
    """Return each text of a message with its trust."""
    return [(part.trust.label, part.text) for part in message.parts if isinstance(part, Text)]
