"""A whole request with the exact text of each entry: unchanged entries are written byte for byte.

``Body.parse`` splits one level of the JSON: the members of an object, or the entries of a list. All text in
between, such as commas and white space, is kept as well, so that the pieces joined again are the whole text:
``[1, 2 ]`` is the head ``[``, the entries ``1`` and ``2``, the gap ``, `` and the tail `` ]``.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar, cast

from clew.errors import InputError, NotJson
from clew.message import Json, JsonObject, Message, Native
from clew.providers.formats import LIST_KEYS, WIRES, detect, wire_named
from clew.providers.rules import CheckReport, CheckScope
from clew.providers.wire import Wire, as_entry

_SPACES = (" ", "\t", "\n", "\r")
_SPACE = re.compile(r"[ \t\n\r]*")
_scan = json.JSONDecoder().raw_decode


class ListEntry(NamedTuple):
    """An entry of a list: its value and its original text."""

    value: Json
    text: str


class ObjectMember(NamedTuple):
    """A member of an object. If its value is a list under one of the requested keys, it is split too."""

    key: str
    label: str
    """The text of the key up to the value: ``"messages": ``."""
    value: Json
    text: str
    entries: SplitJson[ListEntry] | None


Piece = TypeVar("Piece", ListEntry, ObjectMember)


@dataclass(frozen=True, slots=True)
class SplitJson(Generic[Piece]):
    """A list or object split into its pieces."""

    head: str
    """The text before the first piece."""
    pieces: Sequence[Piece]
    gaps: Sequence[str]
    """The texts between the pieces."""
    tail: str

    def within(self, before: str, after: str) -> SplitJson[Piece]:
        """Return the same with more text around it."""
        return SplitJson(before + self.head, self.pieces, self.gaps, self.tail + after)

    def joined(self, texts: Sequence[str]) -> str:
        """Return the text with other texts in place of the pieces; extra ones are joined by the last gap."""
        out = [self.head]
        spare = self.gaps[-1] if self.gaps else ","
        for i, text in enumerate(texts):
            if i:
                out.append(self.gaps[i - 1] if i <= len(self.gaps) else spare)
            out.append(text)
        out.append(self.tail)
        return "".join(out)


def split_json(
    text: str, keys: frozenset[str]
) -> tuple[Json, SplitJson[ObjectMember] | SplitJson[ListEntry] | None]:
    """Parse JSON text; split its object or list, and the lists under ``keys`` of an object.

    For other values only the value is returned. Text that is not JSON raises ``NotJson`` with the position.
    """
    try:
        return _split_json(text, keys)
    except RecursionError as cause:
        raise NotJson("nested too deeply to read") from cause
    except ValueError as cause:  # not JSON, or an integer too long for Python to parse
        raise NotJson(str(cause)) from cause


def _split_json(
    text: str, keys: frozenset[str]
) -> tuple[Json, SplitJson[ObjectMember] | SplitJson[ListEntry] | None]:
    """Split an object or a list; for any other value there is nothing to split."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    match text[start : start + 1]:
        case "{":
            members, end = _split_pieces(text, start, "}", lambda at: _split_member(text, at, keys))
            value: Json = {member.key: member.value for member in members.pieces}
            return value, members.within(text[:start], _trailing_space(text, end))
        case "[":
            entries, end = _split_list(text, start)
            value = [entry.value for entry in entries.pieces]
            return value, entries.within(text[:start], _trailing_space(text, end))
        case _:
            value, end = _scan(text, start)
            _trailing_space(text, end)
            return value, None


def _trailing_space(text: str, end: int) -> str:
    """Return the white space after a value; raise if there is anything else."""
    after = _skip(text, end)
    if after != len(text):
        raise json.JSONDecodeError("Extra data", text, after)
    return text[end:]


def _split_list(text: str, start: int) -> tuple[SplitJson[ListEntry], int]:
    def entry(at: int) -> tuple[ListEntry, int]:
        value, end = _scan(text, at)
        return ListEntry(value, text[at:end]), end

    return _split_pieces(text, start, "]", entry)


def _split_pieces(
    text: str, start: int, closing: str, read_piece: Callable[[int], tuple[Piece, int]]
) -> tuple[SplitJson[Piece], int]:
    """Split the list or object that begins at ``start``; return it and the index after it.

    ``read_piece`` reads one entry or member at an index; it returns it and the index after it.
    """
    pieces: list[Piece] = []
    gaps: list[str] = []
    at = _skip(text, start + 1)
    head = text[start:at]
    end = at
    while text[at : at + 1] != closing:
        if pieces:
            at = _skip(text, _expect(text, at, ","))
            gaps.append(text[end:at])
        piece, end = read_piece(at)
        pieces.append(piece)
        at = _skip(text, end)
    return SplitJson(head, pieces, gaps, text[end : at + 1]), at + 1


def _split_member(text: str, start: int, keys: frozenset[str]) -> tuple[ObjectMember, int]:
    if text[start : start + 1] != '"':
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, start)
    key, at = _scan(text, start)
    at = _skip(text, _expect(text, _skip(text, at), ":"))
    label = text[start:at]
    if key in keys and text[at : at + 1] == "[":
        entries, end = _split_list(text, at)
        value: Json = [entry.value for entry in entries.pieces]
        return ObjectMember(key, label, value, text[at:end], entries), end
    value, end = _scan(text, at)
    return ObjectMember(key, label, value, text[at:end], None), end


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] not in _SPACES:
        return at  # the common case, without a regular expression
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, mark: str) -> int:
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting {mark!r} delimiter", text, at)
    return at + 1


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
