"""Messages as JSON and back, without loss: the form in which the log stores them.

A message carries its content twice: as parts, and as the native object it was read from, which the parts' own
natives are pieces of. The JSON holds the native object once, and everything that repeats a piece of it is a
pointer into it (``at``)::

    {"role": "assistant",
     "parts": [{"type": "text", "trust": "assistant", "text": {"at": ["content", 0, "text"]},
                "native": {"wire": "anthropic", "at": ["content", 0]}}],
     "native": {"wire": "anthropic",
                "value": {"role": "assistant", "content": [{"type": "text", "text": "…"}]}}}

A native that occurs again is written as ``{"same": 0}``, the number of its first occurrence. If the JSON text
of a native is known, its ``style`` is stored, or the text itself if it has none of the known styles. Reading
restores the same sharing, by which codecs recognise untouched parts, so a reloaded message renders
byte-identical.
"""

# ruff: noqa: ANN401  # fields of parts, and JSON on its way in, are what they are

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from clew.errors import StoreDamaged
from clew.message import (
    ApprovalAnswer,
    ApprovalRequest,
    Compacted,
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
)
from clew.message.atoms import check_fields

Path: TypeAlias = list[Json]

_TYPES: Mapping[str, type[Part]] = MappingProxyType(
    {
        "text": Text,
        "thinking": Thinking,
        "tool_call": ToolCall,
        "tool_result": ToolResult,
        "media": Media,
        "compacted": Compacted,
        "approval_request": ApprovalRequest,
        "approval_answer": ApprovalAnswer,
        "unknown": Unknown,
    }
)
_NAMES = {part: name for name, part in _TYPES.items()}
_FIELDS = {
    part: [
        (field.name, field.default)
        for field in dataclasses.fields(part)
        if field.init and field.name != "native"
    ]
    for part in _NAMES
}
TRUST_BY_LABEL = {trust.label: trust for trust in Trust}
"""The trust levels by their stored names."""
_STYLES: Mapping[str, json.JSONEncoder] = MappingProxyType(
    {
        "compact": json.JSONEncoder(ensure_ascii=False, separators=(",", ":")),
        "spaced": json.JSONEncoder(ensure_ascii=False),
        "compact-ascii": json.JSONEncoder(separators=(",", ":")),
        "spaced-ascii": json.JSONEncoder(),
    }
)
"""JSON styles of the tools in use; a text in one of these styles need not be stored next to its value."""

MIN_POINTER_TEXT = 32
"""From this many characters on, a pointer to a text is shorter than the text."""


# Writing ---------------------------------------------------------------------------------------------


def message_to_json(message: Message) -> JsonObject:
    """Return the message as JSON."""
    return _MessageWriter().message(message)


def message_to_plain_json(message: Message) -> JsonObject:
    """Return the message as plain JSON without the objects it was read from, for ``clew show --json``."""
    return {
        "role": message.role.value,
        "origin": message.origin.value,
        "parts": [_plain_part(part) for part in message.parts],
    }


def _plain_part(part: Part) -> JsonObject:
    value: JsonObject = {"type": _NAMES[type(part)]}
    for name, default in _FIELDS[type(part)]:
        item = getattr(part, name)
        if name not in ("parts", "trust") and item is not None and item != default:
            value[name] = item
    value["trust"] = part.trust.label
    if isinstance(part, ToolResult):
        value["parts"] = [_plain_part(inner) for inner in part.parts]
    if isinstance(part, Unknown) and part.native:
        value["value"] = part.native.value
    return value


class _ValuePaths:
    """The path of each value in a native object: by identity, and for long texts also by content."""

    __slots__ = ("_places", "_texts")

    def __init__(self, value: Json) -> None:
        self._places: dict[int, Path] = {}
        self._texts: dict[str, Path] = {}
        left: list[tuple[Path, Json]] = [([], value)]
        while left:
            path, node = left.pop()
            self._places.setdefault(id(node), path)
            if isinstance(node, dict):
                left.extend(([*path, key], child) for key, child in node.items())
            elif isinstance(node, list):
                left.extend(([*path, i], child) for i, child in enumerate(node))
            elif isinstance(node, str) and len(node) >= MIN_POINTER_TEXT:
                self._texts.setdefault(node, path)

    def place(self, value: Json) -> Path | None:
        """Return the path of this object; None if it is not there, or a constant that exists only once."""
        return None if value is None or isinstance(value, bool) else self._places.get(id(value))

    def place_of_text(self, text: str) -> Path | None:
        """Return the path of a long text with the same content."""
        return self._texts.get(text)


_NO_PATHS = _ValuePaths(None)


class _MessageWriter:
    """Writes one message; remembers which natives it has written."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}  # the number of each native, by its identity
        self._paths: list[_ValuePaths] = []  # by that number: where its values are

    def message(self, message: Message) -> JsonObject:
        native, paths = self._native(message.native, _NO_PATHS)
        value: JsonObject = {"role": message.role.value}
        if message.origin is not Origin.SPOKEN:
            value["origin"] = message.origin.value
        value["parts"] = [self._part(part, paths) for part in message.parts]
        if native is not None:
            value["native"] = native
        return value

    def _part(self, part: Part, paths: _ValuePaths) -> JsonObject:
        native, paths = self._native(part.native, paths)
        value: JsonObject = {"type": _NAMES[type(part)]}
        for name, default in _FIELDS[type(part)]:
            item = getattr(part, name)
            if item != default:
                value[name] = self._field(item, paths)
        if native is not None:
            value["native"] = native
        return value

    def _field(self, item: Any, paths: _ValuePaths) -> Json:
        path = None
        match item:
            case Trust():
                return item.label
            case tuple():
                return [self._part(part, paths) for part in item]
            case str():
                path = paths.place_of_text(item)
            case dict() | list():
                path = paths.place(item)
                item = {"json": item}  # wrapped, so that a tool's object is never read as a pointer
        return item if path is None else {"at": path}

    def _native(self, native: Native | None, paths: _ValuePaths) -> tuple[JsonObject | None, _ValuePaths]:
        """Return a native as JSON, and the values that its fields may point into."""
        if native is None:
            return None, paths
        if (number := self._seen.get(id(native))) is not None:
            return {"same": number}, self._paths[number]
        path = paths.place(native.value)
        if path is None:
            paths = _ValuePaths(native.value)
        self._seen[id(native)] = len(self._paths)
        self._paths.append(paths)
        return _native_to_json(native, path), paths


def _native_to_json(native: Native, path: Path | None) -> JsonObject:
    written: JsonObject = {"wire": native.wire}
    if path is None:
        written["value"] = native.value
    else:
        written["at"] = path
    if native.text is None:
        return written
    for style, encoder in _STYLES.items():
        if encoder.encode(native.value) == native.text:
            return {**written, "style": style}
    if path is None and _decodes_to(native.text, native.value):
        del written["value"]  # the text holds the whole value
    return {**written, "text": native.text}


def _decodes_to(text: str, value: Json) -> bool:
    """Return True if parsing the text gives exactly this value, including key order and 1 versus 1.0."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return False
    exact = _STYLES["compact"]
    return exact.encode(read) == exact.encode(value)


# Reading ---------------------------------------------------------------------------------------------


def message_from_json(value: JsonObject) -> Message:
    """Return the message that was written as this JSON."""
    try:
        return _MessageReader().message(value)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as cause:
        raise StoreDamaged(f"a message cannot be read back ({type(cause).__name__}: {cause})") from cause


# Input is unchecked JSON: what is missing raises here and is caught above.
class _MessageReader:
    """Reads one message; remembers its natives and the values that fields point into."""

    def __init__(self) -> None:
        self._natives: list[tuple[Native, Any]] = []
        """In the order of the text, each with the value that pointers inside it start from."""

    def message(self, value: Any) -> Message:
        native, root = self._native(value.get("native"), None)
        parts = tuple(self._part(part, root) for part in value["parts"])
        return Message(Role(value["role"]), parts, Origin(value.get("origin", Origin.SPOKEN)), native)

    def _part(self, value: Any, root: Any) -> Part:
        native, root = self._native(value.get("native"), root)
        fields = {
            name: self._field(name, item, root)
            for name, item in value.items()
            if name not in ("type", "native")
        }
        return check_fields(_TYPES[value["type"]](**fields, native=native))

    def _field(self, name: str, item: Any, root: Any) -> Any:
        if name == "trust":
            return TRUST_BY_LABEL[item]
        if name == "parts":
            return tuple(self._part(part, root) for part in item)
        if isinstance(item, dict):
            return item["json"] if "json" in item else _follow(root, item["at"])
        return item

    def _native(self, written: Any, root: Any) -> tuple[Native | None, Any]:
        """Return the native object that was stored, and the object that inner ones refer to."""
        if written is None:
            return None, root
        if "same" in written:
            known, root = self._natives[written["same"]]
            return known, root
        text = written.get("text")
        if "at" in written:
            value = _follow(root, written["at"])
        else:
            root = value = written["value"] if "value" in written else json.loads(text)
        if "style" in written:
            text = _STYLES[written["style"]].encode(value)
        native = check_fields(Native(written["wire"], value, text))
        self._natives.append((native, root))
        return native, root


def _follow(root: Any, path: Path) -> Any:
    for step in path:
        root = root[step]
    return root
