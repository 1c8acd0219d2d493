"""A list as a caller holds it: dictionaries, SDK or framework objects, or clew's own messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from clew.compaction.plan.recognise import as_told, parted
from clew.errors import InputError, UnknownEntry
from clew.message import Json, JsonObject, Message, Unknown
from clew.providers import WIRES, Body, Wire, detect, wire_named
from clew.providers.foreign import Codec, foreign_codec
from clew.providers.openai.calls import STRAY
from clew.providers.sdk import plain
from clew.session.speakers import with_speakers

MODELS = frozenset({"assistant", "model"})
UNREADABLE = frozenset({"untyped", "not-an-object", "not-a-list", "content", "empty", STRAY})
"""Kinds of ``Unknown`` parts whose format does not say what they are; a typed block of a new kind does."""
LABELS = frozenset({"role", "name", "type", "id", "status"})
"""Fields that hold no content themselves."""


def wire_codec(wire: Wire) -> Codec:
    """Return the codec of a provider's format: SDK objects are read as the JSON that they are sent as."""

    def read(entry: Any, place: int | None = None) -> tuple[Message, ...]:  # noqa: ANN401  # JSON or of an SDK
        try:
            value = plain(entry)
            message = wire.parse_item(value)
        except RecursionError:
            raise _endless() from None
        _must_be_known(entry, value, message, wire, place)
        return parted(with_speakers(message))

    return Codec(wire.name, read, wire.render, wire)


def _own(message: Any, _place: int | None) -> tuple[Message, ...]:  # noqa: ANN401  # a Message
    return parted(message)


OWN = Codec("clew", _own, list)
"""For a list of clew's own messages."""


@dataclass(frozen=True, slots=True)
class ParsedInput:
    """What a caller passed: the list, its format, and what a whole request body says besides."""

    entries: list[Any]
    """The caller's own objects."""
    codec: Codec
    certain: bool = True
    """The format is beyond doubt; bare texts with roles could be of several."""
    system_field: Any = None
    """The system field of a body, as it came."""
    model: str = ""
    """The model that a body names; empty if it names none."""

    @classmethod
    def of(
        cls, given: Iterable[Any] | Mapping[str, Any], wire: Wire | None = None, known: Codec | None = None
    ) -> ParsedInput:
        """Take a list or a whole request body apart; anything else is an ``InputError``.

        With a codec that is ``known`` from an earlier call, nothing is looked at to guess the format.
        """
        _must_hold_messages(given)
        if isinstance(given, Mapping):
            return _of_body(given, wire, known)
        entries = list(given)
        if known is not None and _fits(known, entries):
            return cls(entries, known)
        codec, certain = codec_of(entries, wire)
        return cls(entries, codec, certain)

    def system(self) -> tuple[Message, ...]:
        """Read the system field of a body."""
        wire = self.codec.wire
        if self.system_field is None or wire is None:
            return ()
        return (wire.parse_system(plain(self.system_field)),)


def _of_body(body: Mapping[str, Any], wire: Wire | None, known: Codec | None) -> ParsedInput:
    fits = known is not None and known.wire is not None and known.wire.list_key in body
    codec, certain = (known, True) if known and fits else codec_of([], wire, body)
    speaks = codec.wire
    key = speaks.list_key if speaks else "messages"
    listed = body.get(key)
    if isinstance(listed, str) and speaks and speaks.takes_plain_text:
        listed = [{"role": "user", "content": listed}]
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise InputError(
            f"the request body has no list of messages under {key!r}", "put it there, or give it alone"
        )
    names = (*speaks.system_aliases, speaks.system_key or "") if speaks else ("system",)
    system = next((body[name] for name in names if body.get(name) is not None), None)
    return ParsedInput(list(listed), codec, certain, system, str(body.get("model") or ""))


def _fits(codec: Codec, entries: Sequence[Any]) -> bool:
    """Whether a list can be in a format, by its first and last entry."""
    for entry in (entries[:1], entries[-1:]):
        kind = foreign_codec(entry)
        own = bool(entry) and isinstance(entry[0], Message)
        name = "clew" if own else kind.name if kind else "" if codec.wire else codec.name
        if name and name != codec.name:
            return False
    return True


def _with_speakers(codec: Codec) -> Codec:
    """Return a framework's codec that knows what harnesses insert, and clew's own digests."""

    def read(entry: Any, place: int | None) -> tuple[Message, ...]:  # noqa: ANN401  # a framework's object
        found = (parted(with_speakers(message)) for message in codec.read(entry, place))
        return tuple(chain.from_iterable(found))

    return replace(codec, read=read)


def codec_of(
    entries: Sequence[Any], wire: Wire | None = None, body: Mapping[str, Any] | None = None
) -> tuple[Codec, bool]:
    """Return the format of a list or body, and whether it is beyond doubt."""
    if wire is not None:
        return wire_codec(wire), True
    if body is not None:
        entries = next(
            (v for k in ("messages", "input", "contents") if isinstance(v := body.get(k), list)), []
        )
    if entries and all(isinstance(one, Message) for one in entries):
        return OWN, True
    codec = foreign_codec(entries)
    if codec is not None:
        return _with_speakers(codec), True
    try:
        guess = detect(plain(body) if body is not None else plain(entries))
    except RecursionError:
        raise _endless() from None
    return wire_codec(WIRES[guess.wire]), not guess.note


def one_message(given: Message | Mapping[str, Any], wire: str | None) -> Message:
    """Return a message, read from a provider's format if it is in one."""
    if isinstance(given, Message):
        return as_told(given)
    try:
        entry = plain(given)
        if not isinstance(entry, dict):
            advice = "give messages one by one: session.add(*messages)"
            raise InputError(f"a {type(given).__name__} is no message", advice)
        _must_say_something(entry)
        body = Body.parse([entry], wire_named(wire) if wire else None)
        _must_be_known(given, entry, body.messages[0], body.wire, None)
    except RecursionError:
        raise _endless() from None
    (message,) = (*body.system, *body.messages)
    return as_told(message)


def _endless() -> InputError:
    return InputError("a message holds objects within objects without end", "send it as text")


def _must_say_something(entry: JsonObject) -> None:
    """Refuse an entry that says nothing; a model's reply may."""
    role = entry.get("role")
    if isinstance(role, str) and role in MODELS:
        return
    if "role" in entry and all(entry[key] is None for key in entry.keys() - LABELS):
        raise InputError(f"this message of role {role!r} says nothing", "give it content")


def _must_be_known(own: object, entry: Json, message: Message, wire: Wire, place: int | None) -> None:
    """Refuse an entry whose role or shape this format does not know; ``place`` is None if it is alone.

    Its text could be anybody's: guessed to be the user's, a tool's output would set rules.
    """
    wrong = _unknown(entry, message, wire, alone=place is None)
    if wrong:
        what = "" if isinstance(own, dict) else f" ({type(own).__module__}.{type(own).__name__})"
        roles = ", ".join(sorted(wire.roles))
        advice = f"convert it first (LangChain: convert_to_openai_messages), or give one of the roles {roles}"
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
        return f"cannot be read: there is no role {role!r}"
    strange = next((p for p in message.parts if isinstance(p, Unknown) and p.kind in UNREADABLE), None)
    if strange:
        return f"holds a part of unknown shape ({strange.kind})"
    if not message.parts and content not in entry and entry.keys() - LABELS and kind is None:
        return f"has no {content}"
    return ""


def _needs_no_role(entry: JsonObject, message: Message, wire: Wire, alone: bool) -> bool:
    """Whether an entry is known without a role: items of Responses by type, the only content of Gemini."""
    readable = bool(message.parts) and not any(isinstance(part, Unknown) for part in message.parts)
    if wire.name == "responses":
        typed = isinstance(entry.get("type"), str) and entry["type"] != "message"
        return typed and (readable or "content" not in entry)
    return wire.name == "gemini" and alone and readable


def _must_hold_messages(given: object) -> None:
    if isinstance(given, str | bytes):
        raise InputError("this is text, not a list of messages", "parse it first, for example with json")
    if not isinstance(given, Iterable):
        what = "None" if given is None else f"an object of type {type(given).__name__}"
        raise InputError(f"{what} is no list of messages", "give a list, or a whole request body")
