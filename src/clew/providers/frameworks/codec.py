"""``Codec``: functions that read the entries of a list as messages and write messages as entries; helpers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.errors import UnknownEntry
from clew.message import Message, Native, Part
from clew.providers.wire import Wire


@dataclass(frozen=True, slots=True)
class Codec:
    """The format of a list: a provider's, a framework's, or clew's own."""

    name: str
    read: Callable[[Any, int | None], tuple[Message, ...]] = field(repr=False)
    """Read an entry at an index of a list (None for a single entry); raise ``InputError`` if unknown."""
    write: Callable[[Sequence[Message]], list[Any]] = field(repr=False)
    """Write messages as entries, based on the objects that they were read from."""
    wire: Wire | None = field(default=None, repr=False)
    """The provider's format whose rules a list must follow; None if only its structure is checked."""


def original(value: Message | Part, name: str) -> Any:  # noqa: ANN401  # an object of a framework
    """Return the framework's object that a message or part was read from, or None if it has none."""
    native: Native | None = value.native
    return native.value if native is not None and native.wire == name else None


def unknown_entry(framework: str, entry: object, place: int | None, advice: str) -> UnknownEntry:
    """Return the error for an entry that a codec cannot read."""
    return UnknownEntry(
        f"entry {place or 0} of this {framework} list is an unknown {type(entry).__name__}", advice
    )
