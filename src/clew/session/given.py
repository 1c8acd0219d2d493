"""A list as a caller holds it: dictionaries, SDK objects or clew's own messages; and the same list back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from clew.errors import InputError
from clew.message import Json, JsonObject, Message
from clew.plan.recognise import as_told, parted
from clew.wire import WIRES, Body, Wire, detect, wire_named
from clew.wire.sdk import plain

MODELS = frozenset({"assistant", "model"})
ROLES = MODELS | {"user", "system", "developer", "tool", "function", ""}
"""Whom providers know; an entry need not name one."""
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
    except RecursionError:
        raise _endless() from None
    (message,) = (*body.system, *body.messages)
    return as_told(message)


def _endless() -> InputError:
    return InputError("a message holds objects within objects without end", "send it as text")


def _must_say_something(entry: JsonObject) -> None:
    """Refuse an entry of a role that no provider knows, or one that says nothing; a model's reply may."""
    role = entry.get("role", "")
    if not isinstance(role, str) or role not in ROLES:
        raise InputError(f"there is no role {role!r}", f"there are {', '.join(sorted(filter(None, ROLES)))}")
    if role in MODELS:
        return
    if "role" in entry and all(entry[key] is None for key in entry.keys() - LABELS):
        raise InputError(f"this message of role {role!r} says nothing", "give it content")


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
