"""What a codec is: how the entries of a list are read as messages, and messages written as entries."""

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
    """Read an entry, at a place in a list or alone (None); what is not known is an ``InputError``."""
    write: Callable[[Sequence[Message]], list[Any]] = field(repr=False)
    """Write messages as entries, over the objects that they were read from."""
    wire: Wire | None = field(default=None, repr=False)
    """The provider's format whose rules a view must keep; None where only structure is checked."""
