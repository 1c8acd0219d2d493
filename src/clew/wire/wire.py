"""The shape that every wire format shares.

A wire format is a value: functions that read and write one entry of its message list, and the rules its
API enforces. Rendering never trusts a flag: it writes each message over its ``native`` object and returns
that very object where nothing differs. So an untouched message goes out identical, and a message with one
changed part keeps the other parts, unknown fields and key order as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clew.message import Json, JsonObject, Message, Native
from clew.wire.rules import Report, Rule, Unverified, check_body


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
    parse_item: Callable[[Json], Message]
    """Read one entry of the list. Never fails: what it does not know is carried as ``Unknown``."""
    render_items: Callable[[Message], Sequence[Json]]
    """Write one message as one or more entries of the list."""
    parse_system: Callable[[Json], Message]
    render_system: Callable[[Sequence[Message]], Json]
    rules: tuple[Rule, ...]

    def parse(self, items: Iterable[Json]) -> list[Message]:
        """Read a message list."""
        return [self.parse_item(item) for item in items]

    def render(self, messages: Iterable[Message]) -> list[Json]:
        """Write messages as a list; untouched ones come back as the very objects they were read from."""
        return [item for message in messages for item in self.render_items(message)]

    def check(self, body: JsonObject, unverified: Unverified = Unverified.WARN) -> Report:
        """Say whether the provider's API would refuse this request body, and by which rules."""
        return check_body(self.rules, body, unverified)


def overlay(native: Native | None, wire: str, fields: JsonObject) -> JsonObject:
    """Write ``fields`` over the native object; return that object itself where nothing changes.

    A field with the value None is left out, unless the native object has it as null.
    """
    base = native.value if native and native.wire == wire else None
    if not isinstance(base, dict):
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
