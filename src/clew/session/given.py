"""A list as a caller holds it: dictionaries, SDK objects or clew's own messages; and the same list back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from clew.errors import InputError
from clew.message import JsonObject, Message
from clew.plan.recognise import as_told, parted
from clew.wire import Body, Wire, wire_named
from clew.wire.sdk import plain

MODELS = frozenset({"assistant", "model"})
ROLES = MODELS | {"user", "system", "developer", "tool", "function", ""}
"""Whom providers know; an entry need not name one."""
LABELS = frozenset({"role", "name", "type", "id", "status"})
"""Fields that say nothing themselves."""


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
    held: Mapping[int, Any]
    """The caller's own entries, by the identity of what was read in their place."""
    model: str = ""
    """The model that a body names; empty where none is."""

    @classmethod
    def read(cls, given: Iterable[Any] | Mapping[str, Any], wire: Wire | None) -> Given:
        """Read a list, or a whole request body; what cannot be one is an ``InputError``."""
        _must_hold_messages(given)
        if not isinstance(given, Mapping | Sequence):
            given = list(given)  # an iterator goes by once
        if not isinstance(given, Mapping) and given and all(isinstance(one, Message) for one in given):
            return cls(list(given), None, (), tuple(chain.from_iterable(map(parted, given))), None, {})
        held: dict[int, Any] = {}
        try:
            body = Body.parse(_plain_body(given, held), wire)
        except RecursionError:
            raise _endless() from None
        fields = given if isinstance(given, Mapping) else {body.wire.list_key: given}
        entries = list(fields.get(body.wire.list_key, ()))
        system = fields.get(body.wire.system_key or "")
        messages = tuple(chain.from_iterable(map(parted, body.messages)))
        return cls(entries, system, body.system, messages, body.wire, held, str(fields.get("model") or ""))

    def after(self, known: Sequence[Any], shown: Sequence[Any]) -> Given:
        """Return the same, with what is shown in place of the entries that it begins with."""
        entries = [*shown, *self.entries[len(known) :]]
        if self.wire is None:
            return Given.read(entries, None)
        system = {} if self.system_field is None else {self.wire.system_key or "": self.system_field}
        return Given.read({**system, self.wire.list_key: entries}, self.wire)

    def render(self, messages: Sequence[Message]) -> list[Any]:
        """Return messages as the caller holds them; untouched ones are the caller's own objects."""
        if self.wire is None:
            return list(messages)
        return [self.held.get(id(entry), entry) for entry in self.wire.render(messages)]


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


def _plain_body(given: Sequence[Any] | Mapping[str, Any], held: dict[int, Any]) -> Any:  # noqa: ANN401  # JSON
    """Return a list or body as plain JSON; remember whose place each entry took."""
    if isinstance(given, Mapping):
        return {
            key: _entries(value, held) if isinstance(value, list) else plain(value)
            for key, value in given.items()
        }
    return _entries(given, held)


def _entries(given: Sequence[Any], held: dict[int, Any]) -> list[Any]:
    entries = []
    for one in given:
        entry = plain(one)
        if entry is not one:
            held[id(entry)] = one
        entries.append(entry)
    return entries
