"""A list as a caller holds it: dictionaries, SDK objects or clew's own messages; and the same list back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from clew.errors import InputError, UnknownEntry
from clew.message import Json, JsonObject, Message, Unknown
from clew.plan.recognise import as_told, parted
from clew.wire import WIRES, Body, Wire, detect, wire_named
from clew.wire.openai.calls import STRAY
from clew.wire.sdk import plain

MODELS = frozenset({"assistant", "model"})
UNREADABLE = frozenset({"untyped", "not-an-object", "not-a-list", "content", "empty", STRAY})
"""Kinds of ``Unknown`` parts whose format does not say what they are; a typed block of a new kind does."""
LABELS = frozenset({"role", "name", "type", "id", "status"})
"""Fields that say nothing themselves."""


class Read(NamedTuple):
    """An entry of a list, read. It holds the entry, so that nothing else can get its identity."""

    entry: Any
    """The caller's own object."""
    plain: Any
    """The same as JSON."""
    message: Message
    shape: tuple[Any, ...]
    """What the entry held then, by identity: callers add blocks to messages that were read before."""


Reads: TypeAlias = Mapping[int, Read]
"""What was read, by the identity of the entry, and by that of its JSON."""
NOTHING: Reads = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Given:
    """What a caller gave, read."""

    entries: list[Any]
    """The caller's own list."""
    system_field: Any
    """The system field of a body, as it came."""
    system: tuple[Message, ...]
    messages: tuple[Message, ...]
    wire: Wire | None
    """None for a list of clew's own messages."""
    model: str = ""
    """The model that a body names; empty where none is."""
    reads: Reads = field(default_factory=dict)
    """Its entries as they were read."""

    @classmethod
    def read(
        cls, given: Iterable[Any] | Mapping[str, Any], wire: Wire | None, known: Reads = NOTHING
    ) -> Given:
        """Read a list, or a whole request body; what cannot be one is an ``InputError``.

        Of entries that are ``known`` in the same format, and ``unchanged``, nothing is read again.
        """
        _must_hold_messages(given)
        if not isinstance(given, Mapping | Sequence):
            given = list(given)  # an iterator goes by once
        if not isinstance(given, Mapping) and given and all(isinstance(one, Message) for one in given):
            return cls(list(given), None, (), tuple(chain.from_iterable(map(parted, given))), None)
        try:
            value = _plain_body(given, known)
            wire = wire or WIRES[detect(value).wire]
            fields = given if isinstance(given, Mapping) else {wire.list_key: given}
            listed = _listed(value if isinstance(value, dict) else {wire.list_key: value}, wire)
            whole = {**value, wire.list_key: listed} if isinstance(value, dict) else listed
            body = Body.parse(whole, _remembering(wire, known))
            _must_be_known(fields[wire.list_key], listed, body.messages, wire)
        except RecursionError:
            raise _endless() from None
        own = fields[wire.list_key]
        entries = listed if isinstance(own, str) else list(own)
        messages = tuple(chain.from_iterable(map(parted, body.messages)))
        system, name = fields.get(wire.system_key or ""), str(fields.get("model") or "")
        reads = _reads(entries, listed, body.messages, known)
        return cls(entries, system, body.system, messages, wire, name, reads)

    def after(self, known: Sequence[Any], shown: Sequence[Any], reads: Reads) -> Given:
        """Return the same, with what is shown in place of the entries that it begins with."""
        entries = [*shown, *self.entries[len(known) :]]
        if self.wire is None:
            return Given.read(entries, None)
        system = {} if self.system_field is None else {self.wire.system_key or "": self.system_field}
        return Given.read({**system, self.wire.list_key: entries}, self.wire, reads)

    def render(self, messages: Sequence[Message]) -> list[Any]:
        """Return messages as the caller holds them; untouched ones are the caller's own objects."""
        if self.wire is None:
            return list(messages)
        written = self.wire.render(messages)
        return [read.entry if (read := self.reads.get(id(entry))) else entry for entry in written]


def one_message(given: Message | Mapping[str, Any], wire: str | None) -> Message:
    """Return a message, read from a provider's format where it is in one."""
    if isinstance(given, Message):
        return as_told(given)
    try:
        entry = plain(given)
        if not isinstance(entry, dict):
            told = "give messages one by one: session.add(*messages)"
            raise InputError(f"a {type(given).__name__} is no message", told)
        _must_say_something(entry)
        body = Body.parse([entry], wire_named(wire) if wire else None)
        _must_be_known([given], [entry], body.messages, body.wire)
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


def _must_be_known(
    given: Iterable[Any], entries: Sequence[Json], messages: Sequence[Message], wire: Wire
) -> None:
    """Refuse a list with an entry whose role or shape this format does not know.

    Its text could be anybody's: guessed to be the user's, a tool's output would set rules.
    """
    for place, (own, entry, message) in enumerate(zip(given, entries, messages, strict=False)):
        wrong = _unknown(entry, message, wire, alone=len(entries) == 1)
        if wrong:
            what = "" if isinstance(own, dict) else f" ({type(own).__module__}.{type(own).__name__})"
            roles = ", ".join(sorted(wire.roles))
            told = (
                f"convert it first (LangChain: convert_to_openai_messages), or give one of the roles {roles}"
            )
            raise UnknownEntry(f"entry {place}{what} of this {wire.title} list {wrong}", told)


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


def _plain_body(given: Sequence[Any] | Mapping[str, Any], known: Reads) -> Any:  # noqa: ANN401  # JSON
    """Return a list or body as plain JSON."""
    if isinstance(given, Mapping):
        return {
            key: _entries(value, known) if isinstance(value, list) else plain(value)
            for key, value in given.items()
        }
    return _entries(given, known)


def _entries(given: Sequence[Any], known: Reads) -> list[Any]:
    return [read.plain if (read := known.get(id(one))) else plain(one) for one in given]


def _listed(body: Mapping[str, Any], wire: Wire) -> list[Any]:
    """Return the list of a body; plain text is one message of the user's."""
    listed = body.get(wire.list_key)
    if isinstance(listed, str) and wire.takes_plain_text:
        return [{"role": "user", "content": listed}]
    if not isinstance(listed, list):
        what = f"no list of messages stands under {wire.list_key!r}"
        raise InputError(what, "put it there, or give it alone")
    return listed


def _remembering(wire: Wire, known: Reads) -> Wire:
    """Return a format that does not read again what is known in it."""
    if not known:
        return wire

    def parse_item(item: Json) -> Message:
        read = known.get(id(item))
        native = read.message.native if read else None
        return read.message if read and native and native.wire == wire.name else wire.parse_item(item)

    return replace(wire, parse_item=parse_item)


def _reads(entries: Sequence[Any], plains: Sequence[Any], messages: Sequence[Message], known: Reads) -> Reads:
    """Return the entries of a list as they were read, now or before."""
    reads: dict[int, Read] = {}
    for entry, as_json, message in zip(entries, plains, messages, strict=True):
        before = known.get(id(entry))
        if before is not None and before.message is message:
            reads[id(entry)] = before
        else:
            reads[id(entry)] = reads[id(as_json)] = Read(entry, as_json, message, _shape(as_json))
    return reads


def unchanged(reads: Reads) -> Reads:
    """Return those of which the entry is plain JSON and holds what it held when it was read."""
    return {
        key: read
        for key, read in reads.items()
        if read.entry is read.plain and _shape(read.plain) == read.shape
    }


def _shape(entry: Json) -> tuple[Any, ...]:
    if not isinstance(entry, dict):
        return (id(entry),)
    members = [id(one) for value in entry.values() if isinstance(value, list) for one in value]
    return (*entry, *map(id, entry.values()), *members)
