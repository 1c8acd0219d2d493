"""The parts of a message (text, thinking, tool calls and results, media and others), and their trust labels.

Parts are frozen values, independent of storage and compared by content. ``native`` holds the object a part
was read from, so that rendering can return that object; it is not compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, TypeAlias


class Trust(IntEnum):
    """Labels from lowest to highest. Derived text gets the lowest label of its sources."""

    UNTRUSTED = 0
    """Tool output, web pages, files of unknown origin: data, never instructions."""
    SEMI_TRUSTED = 1
    """Text added by a harness, and documents that the user referred to."""
    ASSISTANT = 2
    """Text by the model."""
    USER = 3
    DEVELOPER = 4
    SYSTEM = 5

    @property
    def label(self) -> str:
        """Return the name in lower case with hyphens: ``semi-trusted``."""
        return self.name.lower().replace("_", "-")


def lowest(labels: Iterable[Trust]) -> Trust:
    """Return the lowest label, or ``UNTRUSTED`` if there are none."""
    return min(labels, default=Trust.UNTRUSTED)


Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
JsonObject: TypeAlias = dict[str, Json]


def json_leaves(value: Json) -> list[bool | int | float | str | None]:
    """Return the strings, numbers, booleans and nulls of a JSON value in order, without the keys of objects.

    ``{"a": ["x", 1], "b": "y"}`` has the leaves ``x``, 1 and ``y``.
    """
    leaves: list[bool | int | float | str | None] = []
    pending = [value]
    while pending:
        top = pending.pop()
        if isinstance(top, dict):
            pending.extend(reversed(top.values()))
        elif isinstance(top, list):
            pending.extend(reversed(top))
        else:
            leaves.append(top)
    return leaves


def json_strings(value: Json) -> list[str]:
    """Return the strings of a JSON value in order, without the keys of objects."""
    return [leaf for leaf in json_leaves(value) if isinstance(leaf, str)]


_encode = json.JSONEncoder(ensure_ascii=False).encode  # made once: json.dumps would build one per call


@dataclass(frozen=True, slots=True)
class Native:
    """The source of a value: the wire's name, the object, and its JSON text if that is known.

    clew never changes ``value``; callers must not either.
    """

    wire: str
    value: Json
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The fields that all parts have."""

    trust: Trust = Trust.UNTRUSTED
    native: Native | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text(_Part):
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking(_Part):
    """A model's reasoning. If signed or encrypted, it must be sent back unchanged or not at all."""

    text: str
    signature: str | None = None
    redacted: bool = False
    """The text is hidden; ``signature`` holds the provider's opaque data."""
    item_id: str | None = None
    """The provider's id of the reasoning item, if it has one (OpenAI Responses)."""

    @property
    def signed(self) -> bool:
        """Whether the provider checks this block: it has a signature or an item id."""
        return bool(self.signature or self.item_id)


@dataclass(frozen=True, slots=True)
class ToolCall(_Part):
    """A tool call by the model."""

    call_id: str
    name: str
    arguments: JsonObject | str = ""
    """As the wire has them: an object, or JSON text, which may be malformed (OpenAI)."""
    server_side: bool = False
    """The provider runs this tool itself and returns the result in the same reply."""
    _written: str | None = field(default=None, init=False, compare=False, repr=False)
    """The arguments as text, cached by ``input_text``."""

    @property
    def input(self) -> JsonObject | None:
        """Return the arguments as an object, or None if their text is not a JSON object."""
        if isinstance(self.arguments, dict):
            return self.arguments
        try:
            value = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    @property
    def input_text(self) -> str:
        """Return the arguments as text, verbatim if the wire has them as text."""
        if isinstance(self.arguments, str):
            return self.arguments
        written = self._written
        if written is None:
            written = _encode(self.arguments)
            object.__setattr__(self, "_written", written)
        return written


@dataclass(frozen=True, slots=True)
class ToolResult(_Part):
    """The result of a tool call, in one or more parts."""

    call_id: str
    parts: tuple[Part, ...]
    is_error: bool = False
    name: str | None = None
    server_side: bool = False

    @property
    def text(self) -> str:
        """Return the text of the result, without media and unknown parts."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text):
            return self.parts[0].text
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


MediaKind: TypeAlias = Literal["image", "document", "audio", "video", "file"]


@dataclass(frozen=True, slots=True)
class Media(_Part):
    """An image, document, audio, video or other file, given as data, as a URL or as a provider's file id."""

    kind: MediaKind
    media_type: str | None = None
    data: str | None = None
    """Base64, as received."""
    url: str | None = None
    file_id: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Compacted(_Part):
    """A provider's own compaction item: a readable summary, an opaque blob, or both."""

    kind: str
    text: str | None = None
    encrypted: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequest(_Part):
    """A request to a person to approve a tool call."""

    approval_id: str
    name: str
    arguments: JsonObject | str = ""


@dataclass(frozen=True, slots=True)
class ApprovalAnswer(_Part):
    """A person's answer to an approval request."""

    approval_id: str
    approved: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Unknown(_Part):
    """A part of a kind that clew does not know; ``native`` holds it, and it is rendered verbatim."""

    kind: str


Part: TypeAlias = (
    Text | Thinking | ToolCall | ToolResult | Media | Compacted | ApprovalRequest | ApprovalAnswer | Unknown
)
