"""What a message is made of.

Parts are frozen values and know nothing of storage. Equality is by content: ``native``, the very
object a part was read from, is carried along so that rendering can return it, but is not compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from clew.message.trust import Trust

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
JsonObject: TypeAlias = dict[str, Json]


_encode = json.JSONEncoder(ensure_ascii=False).encode  # made once: it is asked for at every call


@dataclass(frozen=True, slots=True)
class Native:
    """What a value was read from: the wire's name, the object, and its JSON text where it was known.

    clew never changes ``value`` and asks you not to.
    """

    wire: str
    value: Json
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What all parts share."""

    trust: Trust = Trust.UNTRUSTED
    native: Native | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text(_Part):
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking(_Part):
    """A model's reasoning. With a signature (or encrypted), it must go back unchanged or not at all."""

    text: str
    signature: str | None = None
    redacted: bool = False
    """The text is hidden; ``signature`` holds the provider's opaque data."""
    item_id: str | None = None
    """The provider's id of the reasoning item, where it has one (OpenAI Responses)."""

    @property
    def signed(self) -> bool:
        """Tell whether the provider will check this block: it is signed, or an item it knows by its id."""
        return bool(self.signature or self.item_id)


@dataclass(frozen=True, slots=True)
class ToolCall(_Part):
    """The model asks for a tool."""

    call_id: str
    name: str
    arguments: JsonObject | str = ""
    """As the wire gave them: an object, or text (OpenAI; a model may write broken JSON)."""
    server_side: bool = False
    """The provider runs this tool and answers in the same reply."""
    _written: str | None = field(default=None, init=False, compare=False, repr=False)
    """The arguments as text, once somebody has asked: to count, to read, to quote and to check them."""

    @property
    def input(self) -> JsonObject | None:
        """Return the arguments as an object, or None where their text is not one."""
        if isinstance(self.arguments, dict):
            return self.arguments
        try:
            value = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    @property
    def input_text(self) -> str:
        """Return the arguments as text, verbatim where the wire gave text."""
        if isinstance(self.arguments, str):
            return self.arguments
        written = self._written
        if written is None:
            written = _encode(self.arguments)
            object.__setattr__(self, "_written", written)
        return written


@dataclass(frozen=True, slots=True)
class ToolResult(_Part):
    """What a tool answered, in one or more parts."""

    call_id: str
    parts: tuple[Part, ...]
    is_error: bool = False
    name: str | None = None
    server_side: bool = False

    @property
    def text(self) -> str:
        """Return the words of the answer; media and unknown parts are left out."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text):
            return self.parts[0].text
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class Media(_Part):
    """An image, a document, a sound: by data, by address or by the provider's file id."""

    kind: Literal["image", "document", "audio", "video", "file"]
    media_type: str | None = None
    data: str | None = None
    """Base64, as it came."""
    url: str | None = None
    file_id: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Compacted(_Part):
    """A provider's own compaction item: a summary one can read, or an opaque blob, or both."""

    kind: str
    text: str | None = None
    encrypted: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequest(_Part):
    """The model waits for a person to allow a call."""

    approval_id: str
    name: str
    arguments: JsonObject | str = ""


@dataclass(frozen=True, slots=True)
class ApprovalAnswer(_Part):
    """A person allowed it, or did not."""

    approval_id: str
    approved: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Unknown(_Part):
    """Anything clew does not know; ``native`` holds it and it is carried verbatim."""

    kind: str


Part: TypeAlias = (
    Text | Thinking | ToolCall | ToolResult | Media | Compacted | ApprovalRequest | ApprovalAnswer | Unknown
)
