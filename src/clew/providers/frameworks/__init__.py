"""Read and write the message objects of frameworks: LangChain, pydantic-ai, Bedrock Converse.

No framework is imported to read a list: the objects are recognised by their class and module.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from clew.providers.frameworks.codec import Codec

__all__ = ["Codec", "foreign_codec"]

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
