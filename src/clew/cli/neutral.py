"""A session's records as JSON lines, for ``clew show --json``."""

from __future__ import annotations

import dataclasses
import re
from typing import cast

from clew.message import Json, JsonObject, Trust
from clew.message.codec import message_to_plain_json
from clew.transcripts import Entry, Record

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def record_to_json(record: Record) -> JsonObject:
    """Return a record as JSON; ``type`` says which: start, message, boundary, dropped or problem."""
    if isinstance(record, Entry):
        return {"type": "message", **message_to_plain_json(record.message), **_fields(record, but="message")}
    return {"type": _name(record), **_fields(record)}


def _fields(value: Record, but: str = "") -> JsonObject:
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
