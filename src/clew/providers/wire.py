"""``Wire``, the description of one wire format, and helpers for reading and writing its entries.

A wire format is a value: functions that read and write one entry of its message list, and the rules its API
enforces; ``WIRES["anthropic"].parse(items)`` and ``.render(messages)`` use them. Rendering writes each
message over its ``native`` object and returns that same object if nothing differs. So an unchanged message is
rendered identically, and a message with one changed part keeps its other parts, unknown fields and key order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, cast

from clew.message import (
    Json,
    JsonObject,
    Message,
    Native,
    Origin,
    Part,
    Role,
    Text,
    ToolCall,
    Trust,
    Unknown,
    trust_of,
)
from clew.providers.rules import ApiRule, CheckReport, CheckScope, Unverified, check_body
from clew.providers.shapes import plain


@dataclass(frozen=True, slots=True)
class Wire:
    """One wire format: how a provider's API represents a message list."""

    name: str
    """The id: ``anthropic``."""
    title: str
    """The name in prose: ``Anthropic Messages``."""
    list_key: str
    """The field of a request body that holds the message list."""
    system_key: str | None
    """The field that holds the system prompt; None if it is part of the list."""
    parse_item: Callable[[Json], Message] = field(repr=False)
    """Read one entry of the list. Never fails: unknown content becomes an ``Unknown`` part."""
    render_items: Callable[[Message], Sequence[Json]] = field(repr=False)
    """Write one message as one or more entries of the list."""
    parse_system: Callable[[Json], Message] = field(repr=False)
    """Read the value of ``system_key``."""
    render_system: Callable[[Sequence[Message]], Json] = field(repr=False)
    """Write system messages as the value of ``system_key``."""
    rules_module: str = field(repr=False)
    """The module with the API's rules as ``RULES``; imported at the first check."""
    roles: frozenset[str] = field(repr=False)
    """The roles that the API knows; text with any other role does not count as the user's."""
    understood: frozenset[str] = field(default=frozenset(), repr=False)
    """The fields that ``Message`` and its parts represent; other fields are kept only in ``native``."""
    system_aliases: tuple[str, ...] = ()
    """Other spellings of ``system_key`` that the API accepts."""
    takes_plain_text: bool = False
    """Whether the list may be a plain string, which is one user message."""

    @property
    def rules(self) -> Sequence[ApiRule]:
        """Return the rules that the API enforces."""
        rules: Sequence[ApiRule] = import_module(self.rules_module).RULES
        return rules

    def parse(self, items: Iterable[Any]) -> list[Message]:
        """Read a message list."""
        return [self.parse_item(item) for item in items]

    def render(self, messages: Iterable[Message]) -> list[Json]:
        """Write messages as a list; unchanged ones are returned as the objects they were read from."""
        return [item for message in messages for item in self.render_items(message)]

    def check(
        self,
        body: Mapping[str, Any],
        unverified: Unverified = Unverified.WARN,
        scope: CheckScope = CheckScope.BODY,
    ) -> CheckReport:
        """Check whether the provider's API would refuse this request body, and by which rules.

        Use ``CheckScope.MESSAGES`` if there is only the list: ``{wire.list_key: items}``. SDK objects in it
        are checked as the JSON that they would be sent as.
        """
        try:
            sent = plain(body)
        except RecursionError:
            sent = body  # rules accept any depth, and SDK objects are never nested so deeply
        return check_body(self.rules, cast(JsonObject, sent), unverified, scope)


def native_object(native: Native | None, wire: str) -> JsonObject | None:
    """Return the object a value was read from, if it was read in this wire format and is an object."""
    if native is not None and native.wire == wire and isinstance(native.value, dict):
        return native.value
    return None


def original_system(messages: Sequence[Message], wire: str) -> Json:
    """Return the system field that a single message was read from; None for anything else."""
    native = messages[0].native if len(messages) == 1 else None
    return native.value if native is not None and native.wire == wire else None


def overlay(base: JsonObject | None, fields: JsonObject) -> JsonObject:
    """Return an object with ``fields`` replaced, or the same object if nothing changes.

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
    """Whether two JSON values are written differently; 1, 1.0 and true are."""
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
    """Whether each of these fields is text, null or absent.

    A neutral part cannot hold a field of any other type and would lose it when written, so its holder is
    kept whole as ``Unknown``.
    """
    return all(isinstance(holder.get(key), str | None) for key in keys)


def origin_and_trust(item: JsonObject, roles: frozenset[str], role: Role) -> tuple[Origin, Trust]:
    """Return the origin and the trust of an entry that was read as ``role``.

    An entry that does not name one of ``roles``, those that the API knows, is injected and untrusted.
    """
    role_name = item.get("role")
    if isinstance(role_name, str) and role_name in roles:
        return Origin.SPOKEN, trust_of(role)
    return Origin.INJECTED, Trust.UNTRUSTED


def text_at(holder: JsonObject, key: str) -> str | None:
    """Return a field's text, or None if it is not text."""
    value = holder.get(key)
    return value if isinstance(value, str) else None


def kind_of(block: Json) -> str:
    """Return the ``type`` of a block, or a name for a block without one."""
    if not isinstance(block, dict):
        return "not-an-object"
    return text_at(block, "type") or "untyped"


def same_wire(native: Native | None, wire: str) -> bool:
    """Whether a value was read in this wire format."""
    return native is not None and native.wire == wire


def arguments_object(call: ToolCall) -> JsonObject:
    """Return a call's arguments as an object; text that is not a JSON object is put under ``input``."""
    parsed = call.input
    return parsed if parsed is not None else {"input": call.arguments}


def derived_id(wire: str, name: str) -> str:
    """Return an id for a call that was read without one; its result, which names the same tool, gets it too.

    It is not written into the entry, and it need not be unique: ``clew.message.pair`` matches calls of one id
    by order.
    """
    return f"{wire}:{name}"


def is_derived_id(wire: str, call_id: str) -> bool:
    """Whether an id comes from ``derived_id``; the tool may have been renamed since."""
    return call_id.startswith(derived_id(wire, ""))


def as_entry(message: Message) -> Message:
    """Return a message that can be an entry of a list, also if it was read from a plain string body."""
    plain = message.native is not None and isinstance(message.native.value, str)
    return replace(message, native=None) if plain and message.role is Role.USER else message


def read_content(
    content: Json, trust: Trust, wire: str, read_block: Callable[[Json, Trust], Part]
) -> tuple[Part, ...]:
    """Read a ``content`` field. Empty text and null give no parts.

    Plain text becomes a ``Text`` without ``native``, because it has no block of its own.
    """
    if isinstance(content, str):
        return (Text(content, trust=trust),) if content else ()
    if isinstance(content, list):
        return tuple([read_block(block, trust) for block in content])
    if content is None:
        return ()
    return (Unknown("content", trust=trust, native=Native(wire, content)),)


def write_content(
    parts: Sequence[Part], original: Json, write_blocks: Callable[[Sequence[Part]], Iterable[Json]]
) -> Json:
    """Write parts in the form they were read in: plain text if it was text or absent, else blocks."""
    match parts:
        case [] if not original:
            return original
        case [Text(text=text, native=None)] if isinstance(original, str | None):
            return text
        case [Unknown(native=Native() as native)] if original is not None and native.value is original:
            return original  # was neither text nor a list
        case _:
            return list(write_blocks(parts))


def write_system(
    messages: Sequence[Message], wire: str, write_blocks: Callable[[Sequence[Part]], Iterable[Json]]
) -> Json:
    """Write a system field; a single unchanged message is written as it was read."""
    original = original_system(messages, wire)
    content = write_content([part for message in messages for part in message.parts], original, write_blocks)
    return content if differs(original, content) else original
