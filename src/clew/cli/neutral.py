"""A session's records as JSON lines, for ``clew show --json``."""

from __future__ import annotations

import dataclasses
import re
from typing import cast

from clew.message import Json, JsonObject, Message, Part, ToolResult, Trust, Unknown
from clew.transcripts import Entry, Record

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def record_to_json(record: Record) -> JsonObject:
    """Return a record as JSON; ``type`` says which: start, message, boundary, dropped or problem."""
    if isinstance(record, Entry):
        return {"type": "message", **message_to_json(record.message), **_fields(record, but="message")}
    return {"type": _name(record), **_fields(record)}


def message_to_json(message: Message) -> JsonObject:
    """Return a message as JSON, without the object it was read from."""
    return {
        "role": message.role.value,
        "origin": message.origin.value,
        "parts": [part_to_json(part) for part in message.parts],
    }


def part_to_json(part: Part) -> JsonObject:
    """Return a part as JSON; of an unknown one, its original value."""
    value: JsonObject = {"type": _name(part), **_fields(part, but="parts"), "trust": part.trust.label}
    if isinstance(part, ToolResult):
        value["parts"] = [part_to_json(inner) for inner in part.parts]
    if isinstance(part, Unknown) and part.native:
        value["value"] = part.native.value
    return value


def _fields(value: Part | Record, but: str = "") -> JsonObject:
    """Return the fields that are not null, empty or the default."""
    fields: JsonObject = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if field.name in ("native", but) or item == field.default or item is None:
            continue
        fields[field.name] = _plain(item)
    return fields


def _plain(item: object) -> Json:
    match item:
        case Trust():
            return item.label
        case tuple():
            return [_plain(one) for one in item]
        case _ if dataclasses.is_dataclass(item) and not isinstance(item, type):
            return {f.name: _plain(getattr(item, f.name)) for f in dataclasses.fields(item)}
        case _:
            return cast(Json, item)


def _name(value: object) -> str:
    return _WORD.sub("_", type(value).__name__).lower()
