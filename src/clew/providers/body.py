"""A request body that can be read, changed and rendered; unchanged parts are rendered byte for byte.

``Body.parse(text).render_text() == text`` for every body; after ``replace(body, messages=body.messages[2:])``
the two entries are gone and all other bytes are the same.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from clew.errors import InputError
from clew.message import Json, JsonObject, Message, Native
from clew.providers.formats import LIST_KEYS, WIRES, detect, wire_named
from clew.providers.rules import CheckReport, CheckScope
from clew.providers.spans import ListEntry, ObjectMember, SplitJson, split_json
from clew.providers.wire import Wire, as_entry


@dataclass(frozen=True, slots=True)
class BodySource:
    """What a body was read from: its value, and its text if it was read from text."""

    value: Json = None
    text: str | None = None
    split: SplitJson[ObjectMember] | SplitJson[ListEntry] | None = None
    """The text of each member or entry, if it was read from text."""


@dataclass(frozen=True, slots=True)
class Body:
    """A request body, or a bare message list, in one wire format.

    Change it with ``dataclasses.replace``. Unchanged content is rendered as the same objects and, if it was
    read from text, as the same bytes, including white space, escapes, the spelling of numbers and repeated
    keys.
    """

    wire: Wire
    system: tuple[Message, ...] = ()
    """The system field; empty if there is none or the format keeps it in the list."""
    messages: tuple[Message, ...] = ()
    rest: JsonObject = field(default_factory=dict)
    """Every other field of the request, unchanged."""
    note: str = ""
    """A note on the detected wire format; empty if it was given or is certain."""
    source: BodySource = field(default=BodySource(), compare=False, repr=False)

    @classmethod
    def parse(cls, raw: bytes | Json | Mapping[str, Any] | Sequence[Any], wire: Wire | None = None) -> Body:
        """Read a body from JSON text or from its value; without ``wire``, detect the wire format.

        Bytes that are not UTF-8 do not fail; they are preserved.
        """
        if isinstance(raw, bytes):
            raw = raw.decode("utf-8", "surrogateescape")
        if isinstance(raw, str):
            value, split = split_json(raw, LIST_KEYS)
            source = BodySource(value, raw, split)
        else:
            source = BodySource(cast(Json, raw))
        if wire is not None:
            return _read(wire, source)
        guess = detect(source.value)
        return replace(_read(WIRES[guess.wire], source), note=guess.note)

    def render(self) -> Any:  # noqa: ANN401 - JSON, for SDKs that have their own types for it
        """Return the body as a value: an object, or a list if it was read from one."""
        before = self.source.value
        if isinstance(before, list) and not self.system and not self.rest:
            return self._items(before)
        before = before if isinstance(before, dict) else {}
        fields = {**self.rest, **self._system_field(before), **self._list_field(before)}
        same = fields.keys() == before.keys() and all(fields[key] is before[key] for key in before)
        return before if same else {key: fields[key] for key in (*before, *fields) if key in fields}

    def render_text(self) -> str:
        """Return the body as JSON text; unchanged content keeps its original text."""
        value, source = self.render(), self.source
        if source.text is not None and value is source.value:
            return source.text  # nothing was changed
        writer = _writer(source.text or "")
        match value, source.split:
            case list(), SplitJson(pieces=[ListEntry(), *_]) as split:  # was a list, and still is
                return split.joined(list(self._item_texts(writer)))
            case dict(), SplitJson(pieces=[ObjectMember(), *_]) as split:  # was an object, and still is
                return split.joined(list(self._member_texts(value, split.pieces, writer)))
            case _:  # was read from a value, or was empty
                return _encode(value, writer)

    def render_bytes(self) -> bytes:
        """Return the body as the bytes to send."""
        text = self.render_text()
        try:
            return text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:  # it was read from a str with lone surrogates
            return text.encode("utf-8", "surrogatepass")

    def _system_field(self, before: JsonObject) -> JsonObject:
        if not self.system:
            return {}
        key = _system_key(self.wire, before)
        if key is None:
            raise InputError(f"{self.wire.title} keeps the system prompt in the message list; put it there")
        return {key: self.wire.render_system(self.system)}

    def _list_field(self, before: JsonObject) -> JsonObject:
        key = self.wire.list_key
        came_without = isinstance(self.source.value, dict) and not _holds_messages(self.wire, before.get(key))
        if not self.messages and came_without:
            return {}
        return {key: self._items(before.get(key))}

    def _items(self, before: Json) -> Json:
        items = self.wire.render(self.messages)
        if isinstance(before, str):
            if len(items) == 1 and items[0] is before:
                return before
            items = self.wire.render(map(as_entry, self.messages))
        if isinstance(before, list) and len(before) == len(items) and all(map(operator.is_, before, items)):
            return before
        return items

    def _item_texts(self, writer: json.JSONEncoder) -> Iterator[str]:
        for message in self.messages:
            native = message.native
            for item in self.wire.render_items(message):
                if native is not None and native.text is not None and native.value is item:
                    yield native.text
                else:
                    yield _encode(item, writer)

    def _member_texts(
        self, value: JsonObject, members: Sequence[ObjectMember], writer: json.JSONEncoder
    ) -> Iterator[str]:
        """Yield the text of each field: the original if it is unchanged, else newly written."""
        last = {member.key: member for member in members}
        for member in members:
            if member.key not in value:
                continue
            new = value[member.key]
            if new is member.value or member is not last[member.key]:
                yield member.label + member.text
            elif member.key == self.wire.list_key and member.entries is not None:
                yield member.label + member.entries.joined(list(self._item_texts(writer)))
            else:
                yield member.label + _encode(new, writer)
        for key in value:
            if key not in last:
                yield _encode({key: value[key]}, writer)[1:-1]


def check(request: Mapping[str, Any] | Sequence[Any], wire: str | None = None) -> CheckReport:
    """Return what a provider's API would refuse in a request body or a message list.

    ``wire`` names the format (anthropic, openai, responses, gemini); it is detected by default.
    """
    format_ = wire_named(wire) if wire else Body.parse(request).wire
    if isinstance(request, Mapping):
        return format_.check(request)
    return format_.check({format_.list_key: list(request)}, scope=CheckScope.MESSAGES)


def _read(wire: Wire, source: BodySource) -> Body:
    """Return the body with its system field and messages parsed; other fields stay as they are."""
    value = source.value
    pieces = source.split.pieces if source.split else ()
    if isinstance(value, list):
        entries = [piece for piece in pieces if isinstance(piece, ListEntry)]
        return Body(wire, messages=_messages(wire, value, entries), source=source)
    if not isinstance(value, dict):
        raise InputError("a request body is an object, or a list of messages")
    rest = dict(value)
    system: tuple[Message, ...] = ()
    messages: tuple[Message, ...] = ()
    key = _system_key(wire, value)
    if key in rest:
        system = (wire.parse_system(rest.pop(key)),)
    if _holds_messages(wire, value.get(wire.list_key)):
        entries_of = {piece.key: piece.entries for piece in pieces if isinstance(piece, ObjectMember)}
        listed = entries_of.get(wire.list_key)
        messages = _messages(wire, rest.pop(wire.list_key), listed.pieces if listed else ())
    return Body(wire, system, messages, rest, source=source)


def _messages(wire: Wire, listed: Json, entries: Sequence[ListEntry]) -> tuple[Message, ...]:
    """Read the messages, with the text of each entry if it is known."""
    if entries:
        return tuple([_with_text(wire.parse_item(entry.value), entry.text) for entry in entries])
    return tuple(wire.parse(listed if isinstance(listed, list) else [listed]))


def _with_text(message: Message, text: str) -> Message:
    native = message.native and Native(message.native.wire, message.native.value, text)
    return Message(message.role, message.parts, message.origin, native)


def _holds_messages(wire: Wire, value: Json) -> bool:
    return isinstance(value, list) or (isinstance(value, str) and wire.takes_plain_text)


def _system_key(wire: Wire, body: JsonObject) -> str | None:
    """Return the name of the system field as the body spells it."""
    return next((key for key in wire.system_aliases if key in body), wire.system_key)


def _writer(style: str) -> json.JSONEncoder:
    """Return an encoder that writes new content in the style of a text: its separators and escapes."""
    spaced = re.search(r'":(\s?)', style)
    separators = (",", ":") if spaced and not spaced[1] else (", ", ": ")
    return json.JSONEncoder(ensure_ascii=bool(style) and style.isascii(), separators=separators)


def _encode(value: Json, writer: json.JSONEncoder) -> str:
    text = writer.encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only contain escaped
        return json.dumps(value, separators=(writer.item_separator, writer.key_separator))
    return text
