"""``Codec``: functions that read the entries of a list as messages and write messages as entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.message import Message
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
