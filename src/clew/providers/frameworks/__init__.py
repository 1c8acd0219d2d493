"""Read and write the message objects of frameworks: LangChain, pydantic-ai, Bedrock Converse.

A list of LangChain messages is compacted with its ``Codec``: read as messages, compacted, and written back.
No framework is imported to read a list: the objects are recognised by their class and module.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
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


_MODULES = {"langchain_core": "langchain", "pydantic_ai": "pydantic_ai"}
"""Packages whose message classes are supported, and the module here that reads them."""


def foreign_codec(entries: Iterable[object]) -> Codec | None:
    """Return the codec of a list with a framework's objects; None for any other list."""
    for entry in entries:
        if isinstance(entry, dict):
            if _is_converse(entry):
                return _codec("converse")
            continue
        for base in type(entry).__mro__:
            name = _MODULES.get(base.__module__.partition(".")[0])
            if name:
                return _codec(name)
    return None


def _codec(name: str) -> Codec:
    codec: Codec = importlib.import_module(f"clew.providers.frameworks.{name}").CODEC
    return codec


_BLOCKS = frozenset(
    {"toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent", "citationsContent"}
)


def _is_converse(entry: dict[str, object]) -> bool:
    """Whether an entry is of Bedrock's Converse API, whose blocks have one key and no ``type``."""
    content = entry.get("content")
    if not isinstance(content, list) or "type" in entry:
        return False
    blocks = [block for block in content if isinstance(block, dict)]
    if any("type" in block for block in blocks):
        return False
    return any(not _BLOCKS.isdisjoint(block) or block.keys() == {"text"} for block in blocks)
