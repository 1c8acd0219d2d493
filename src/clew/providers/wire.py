"""The shape that every wire format shares.

A wire format is a value: functions that read and write one entry of its message list, and the rules its
API enforces. Rendering never trusts a flag: it writes each message over its ``native`` object and returns
that very object where nothing differs. So an untouched message goes out identical, and a message with one
changed part keeps the other parts, unknown fields and key order as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from clew.message import Json, JsonObject, Message, Native, Origin, Role, ToolCall, Trust, trust_of
from clew.providers.rules import Report, Rule, Scope, Unverified, check_body
from clew.providers.sdk import plain


@dataclass(frozen=True, slots=True)
class Wire:
    """One provider's way to write a history down."""

    name: str
    """How people name it: ``anthropic``."""
    title: str
    """How it is named in prose: ``Anthropic Messages``."""
    list_key: str
    """The field of a request body that holds the message list."""
    system_key: str | None
    """The field that holds the system prompt, where it is not part of the list."""
    parse_item: Callable[[Json], Message] = field(repr=False)
    """Read one entry of the list. Never fails: what it does not know is carried as ``Unknown``."""
    render_items: Callable[[Message], Sequence[Json]] = field(repr=False)
    """Write one message as one or more entries of the list."""
    parse_system: Callable[[Json], Message] = field(repr=False)
    render_system: Callable[[Sequence[Message]], Json] = field(repr=False)
    rules: tuple[Rule, ...] = field(repr=False)
    roles: frozenset[str] = field(repr=False)
    """The roles that the API knows; text of any other is never the user's."""
    understood: frozenset[str] = field(default=frozenset(), repr=False)
    """The names of the fields whose meaning a message holds; every other field is only carried along."""
    system_aliases: tuple[str, ...] = ()
    """Other spellings of ``system_key`` that the API takes."""
    takes_plain_text: bool = False
    """In place of the list there may be plain text: one message of the user's."""

    def parse(self, items: Iterable[Any]) -> list[Message]:
        """Read a message list."""
        return [self.parse_item(item) for item in items]

    def render(self, messages: Iterable[Message]) -> list[Json]:
        """Write messages as a list; untouched ones come back as the very objects they were read from."""
        return [item for message in messages for item in self.render_items(message)]

    def check(
        self, body: Mapping[str, Any], unverified: Unverified = Unverified.WARN, scope: Scope = Scope.BODY
    ) -> Report:
        """Say whether the provider's API would refuse this request body, and by which rules.

        Give ``Scope.MESSAGES`` where only the list is at hand: ``{wire.list_key: items}``. Objects of SDKs
        in it are judged as the JSON that they would be sent as.
        """
        try:
            sent = plain(body)
        except RecursionError:
            sent = body  # rules take it as deep as it is; what is so deep is no object of an SDK
        return check_body(self.rules, cast(JsonObject, sent), unverified, scope)


def own(native: Native | None, wire: str) -> JsonObject | None:
    """Return the object a value was read from, where it came in this wire format and is an object."""
    if native is not None and native.wire == wire and isinstance(native.value, dict):
        return native.value
    return None


def given_system(messages: Sequence[Message], wire: str) -> Json:
    """Return the system field that a lone message was read from; None for anything else."""
    native = messages[0].native if len(messages) == 1 else None
    return native.value if native is not None and native.wire == wire else None


def overlay(base: JsonObject | None, fields: JsonObject) -> JsonObject:
    """Write ``fields`` over an object; return that object itself where nothing changes.

    A field with the value None is left out, unless the object has it as null.
    """
    if base is None:
        return {key: value for key, value in fields.items() if value is not None}
    changed = {key: value for key, value in fields.items() if differs(base.get(key), value)}
    if not changed:
        return base
    merged = {**base, **changed}
    return {key: value for key, value in merged.items() if value is not None or key not in changed}


def differs(old: Json, new: Json) -> bool:
    """Tell whether two JSON values would be written differently; 1, 1.0 and true would."""
    if old is new:
        return False
    if type(old) is not type(new):
        return True
    if isinstance(old, list) and isinstance(new, list):
        return len(old) != len(new) or any(map(differs, old, new))
    if isinstance(old, dict) and isinstance(new, dict):
        return list(old) != list(new) or any(differs(old[key], new[key]) for key in old)
    return old != new


def only_texts(holder: JsonObject, *keys: str) -> bool:
    """Tell whether each of these fields is text, null or absent.

    A field of any other type has no place in a neutral part: writing that part would drop it, so its
    holder is better carried whole, as ``Unknown``.
    """
    return all(isinstance(holder.get(key), str | None) for key in keys)


def speaker(item: JsonObject, roles: frozenset[str], role: Role) -> tuple[Origin, Trust]:
    """Return who wrote an entry and how far to trust it; an entry without a known role is untrusted."""
    named = item.get("role")
    if isinstance(named, str) and named in roles:
        return Origin.SPOKEN, trust_of(role)
    return Origin.INJECTED, Trust.UNTRUSTED


def text_at(holder: JsonObject, key: str) -> str | None:
    """Return a field's text, or None where it is anything else."""
    value = holder.get(key)
    return value if isinstance(value, str) else None


def kind_of(block: Json) -> str:
    """Name the kind of an unknown block by its own word for it."""
    if not isinstance(block, dict):
        return "not-an-object"
    return text_at(block, "type") or "untyped"


def same_wire(native: Native | None, wire: str) -> bool:
    """Tell whether a value came in this wire format."""
    return native is not None and native.wire == wire


def arguments_object(call: ToolCall) -> JsonObject:
    """Return a call's arguments as an object; text that is not one goes in whole, under ``input``."""
    given = call.input
    return given if given is not None else {"input": call.arguments}


def derived_id(wire: str, name: str) -> str:
    """Return the id of a call that came without one; its answer, naming the same tool, gets the same.

    It never goes out: ``clew.message.pair`` tells calls of one id apart by their order.
    """
    return f"{wire}:{name}"


def as_entry(message: Message) -> Message:
    """Return a message as one that can stand in a list, even where it came as the plain text of a body."""
    plain = message.native is not None and isinstance(message.native.value, str)
    return replace(message, native=None) if plain and message.role is Role.USER else message
