"""Parse what a caller passes: a list or body of dictionaries, SDK or framework objects, or messages.

Texts that a harness inserted in the user's role are labelled as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from clew.compaction.plan.render import mark_if_digest, split_off_digest
from clew.errors import InputError, UnknownEntry
from clew.message import Json, JsonObject, Message, Unknown
from clew.providers import WIRES, Body, Wire, detect, wire_named
from clew.providers.frameworks import Codec, foreign_codec
from clew.providers.openai_chat import STRAY
from clew.providers.shapes import plain
from clew.transcripts.messages import label_speakers

MODELS = frozenset({"assistant", "model"})
UNREADABLE = frozenset({"untyped", "not-an-object", "not-a-list", "content", "empty", STRAY})
"""Kinds of ``Unknown`` parts without a type of their own; a typed block of a new kind is accepted."""
LABELS = frozenset({"role", "name", "type", "id", "status"})
"""Fields that hold no content themselves."""


def wire_codec(wire: Wire) -> Codec:
    """Return the codec of a provider's format; SDK objects are read as the JSON that they serialise to."""

    def read(entry: Any, place: int | None = None) -> tuple[Message, ...]:  # noqa: ANN401  # JSON or of an SDK
        try:
            value = plain(entry)
            message = wire.parse_item(value)
        except RecursionError:
            raise _too_deep() from None
        _must_be_known(entry, value, message, wire, place)
        return split_off_digest(label_speakers(message))

    return Codec(wire.name, read, wire.render, wire)


OWN = Codec("clew", lambda message, _place: split_off_digest(message), list)
"""For a list of clew's own messages."""


@dataclass(frozen=True, slots=True)
class ParsedInput:
    """The caller's list, its format, and the other fields of a request body that matter here."""

    entries: list[Any]
    """The caller's own objects; the list itself may be the caller's too."""
    codec: Codec
    certain: bool = True
    """The format is unambiguous; bare texts with roles could be of several."""
    system_field: Any = None
    """The system field of a body, unchanged."""
    model: str = ""
    """The model that a body names; empty if it names none."""

    @classmethod
    def of(
        cls, messages: Iterable[Any] | Mapping[str, Any], wire: Wire | None = None, known: Codec | None = None
    ) -> ParsedInput:
        """Parse a list or a whole request body; anything else is an ``InputError``.

        With a codec ``known`` from an earlier call, the format is not detected again.
        """
        _must_hold_messages(messages)
        if isinstance(messages, Mapping):
            return _of_body(messages, wire, known)
        if known is not None and isinstance(messages, list) and _fits(known, messages):
            return cls(messages, known)  # not copied: of a known list only the new entries are used
        entries = list(messages)
        codec, certain = codec_of(entries, wire)
        return cls(entries, codec, certain)

    def system(self) -> tuple[Message, ...]:
        """Parse the system field of a body."""
        wire = self.codec.wire
        if self.system_field is None or wire is None:
            return ()
        return (wire.parse_system(plain(self.system_field)),)


def _of_body(body: Mapping[str, Any], wire: Wire | None, known: Codec | None) -> ParsedInput:
    """Parse a request body: find its format, its list of messages and its system field."""
    fits = known is not None and known.wire is not None and known.wire.list_key in body
    codec, certain = (known, True) if known and fits else codec_of([], wire, body)
    speaks = codec.wire
    key = speaks.list_key if speaks else "messages"
    listed = body.get(key)
    if isinstance(listed, str) and speaks and speaks.takes_plain_text:
        listed = [{"role": "user", "content": listed}]
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise InputError(
            f"the request body has no list of messages under {key!r}", "put it there, or pass the list alone"
        )
    names = (*speaks.system_aliases, speaks.system_key or "") if speaks else ("system",)
    system = next((body[name] for name in names if body.get(name) is not None), None)
    return ParsedInput(list(listed), codec, certain, system, str(body.get("model") or ""))


def _fits(codec: Codec, entries: Sequence[Any]) -> bool:
    """Whether a list can be in a format, by its first and last entry."""
    return all(_format_name(entry) in (None, codec.name) for entry in (*entries[:1], *entries[-1:]))


def _format_name(entry: Any) -> str | None:  # noqa: ANN401  # any caller's object
    """Return the name of the only format that an entry can be in; None for plain data."""
    if isinstance(entry, Message):
        return OWN.name
    codec = foreign_codec([entry])
    return codec.name if codec else None


def _with_speakers(codec: Codec) -> Codec:
    """Return a framework's codec that also recognises texts inserted by harnesses and clew's own digests."""

    def read(entry: Any, place: int | None) -> tuple[Message, ...]:  # noqa: ANN401  # a framework's object
        messages = (split_off_digest(label_speakers(message)) for message in codec.read(entry, place))
        return tuple(chain.from_iterable(messages))

    return replace(codec, read=read)


def codec_of(
    entries: Sequence[Any], wire: Wire | None = None, body: Mapping[str, Any] | None = None
) -> tuple[Codec, bool]:
    """Return the format of a list or body, and whether it is unambiguous."""
    if wire is not None:
        return wire_codec(wire), True
    if body is not None:
        entries = next(
            (v for k in ("messages", "input", "contents") if isinstance(v := body.get(k), list)), []
        )
    if entries and all(isinstance(entry, Message) for entry in entries):
        return OWN, True
    codec = foreign_codec(entries)
    if codec is not None:
        return _with_speakers(codec), True
    try:
        guess = detect(plain(body) if body is not None else plain(entries))
    except RecursionError:
        raise _too_deep() from None
    return wire_codec(WIRES[guess.wire]), not guess.note


def one_message(value: Message | Mapping[str, Any], wire: str | None) -> Message:
    """Return one message, parsed from a provider's format if necessary."""
    if isinstance(value, Message):
        return mark_if_digest(value)
    try:
        entry = plain(value)
        if not isinstance(entry, dict):
            advice = "pass messages one by one: session.add(*messages)"
            raise InputError(f"expected one message, got a {type(value).__name__}", advice)
        _must_say_something(entry)
        body = Body.parse([entry], wire_named(wire) if wire else None)
        _must_be_known(value, entry, body.messages[0], body.wire, None)
    except RecursionError:
        raise _too_deep() from None
    (message,) = (*body.system, *body.messages)
    return mark_if_digest(label_speakers(message))


def _too_deep() -> InputError:
    return InputError("a message is nested too deeply", "send it as text")


def _must_say_something(entry: JsonObject) -> None:
    """Refuse an entry without content, unless it is a model's reply."""
    role = entry.get("role")
    if isinstance(role, str) and role in MODELS:
        return
    if "role" in entry and all(entry[key] is None for key in entry.keys() - LABELS):
        raise InputError(f"this message of role {role!r} has no content", "add content to it")


def _must_be_known(own: object, entry: Json, message: Message, wire: Wire, place: int | None) -> None:
    """Refuse an entry with an unknown role or shape; ``place`` is its index, None for a single entry.

    Its author must not be guessed: read as the user's words, a tool's output could set rules.
    """
    wrong = _unknown(entry, message, wire, alone=place is None)
    if wrong:
        what = "" if isinstance(own, dict) else f" ({type(own).__module__}.{type(own).__name__})"
        roles = ", ".join(sorted(wire.roles))
        advice = f"convert it first (LangChain: convert_to_openai_messages), or use one of the roles {roles}"
        raise UnknownEntry(f"entry {place or 0}{what} of this {wire.title} list {wrong}", advice)


def _unknown(entry: Json, message: Message, wire: Wire, *, alone: bool) -> str:
    """Return what is not known about an entry; nothing if it is known."""
    if not isinstance(entry, dict):
        return "" if isinstance(entry, str) and wire.takes_plain_text else "is not an object"
    role, kind = entry.get("role"), entry.get("type")
    content = "parts" if wire.name == "gemini" else "content"
    if role is None and not _needs_no_role(entry, message, wire, alone):
        return "has no role"
    if role is not None and (not isinstance(role, str) or role not in wire.roles):
        return f"has the unknown role {role!r}"
    strange = next((p for p in message.parts if isinstance(p, Unknown) and p.kind in UNREADABLE), None)
    if strange:
        return f"holds a part of unknown shape ({strange.kind})"
    if not message.parts and content not in entry and entry.keys() - LABELS and kind is None:
        return f"has no {content}"
    return ""


def _needs_no_role(entry: JsonObject, message: Message, wire: Wire, alone: bool) -> bool:
    """Whether an entry is valid without a role: Responses items by type, the only content of Gemini."""
    readable = bool(message.parts) and not any(isinstance(part, Unknown) for part in message.parts)
    if wire.name == "responses":
        typed = isinstance(entry.get("type"), str) and entry["type"] != "message"
        return typed and (readable or "content" not in entry)
    return wire.name == "gemini" and alone and readable


def _must_hold_messages(messages: object) -> None:
    if isinstance(messages, str | bytes):
        raise InputError("expected a list of messages, got text", "parse it first, for example with json")
    if not isinstance(messages, Iterable):
        what = "None" if messages is None else f"an object of type {type(messages).__name__}"
        raise InputError(f"expected a list of messages, got {what}", "pass a list, or a whole request body")
