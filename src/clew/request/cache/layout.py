"""A request as a prompt cache sees it: blocks in the order tools, system prompt, messages.

Only chained hashes are kept: if two requests agree at a block, they agree in everything before it. Cache
marks are ignored, because moving one does not invalidate a cache, and so is the form of a text: providers
treat a string and a list of one text block alike.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from clew.compaction.plan.render import TAG as DIGEST_TAG
from clew.message import Json, JsonObject
from clew.providers import wire_named
from clew.providers.shapes import as_list, as_object, as_text

Where: TypeAlias = Literal["tools", "system", "messages"]
_DIGEST = re.compile(rf'<{DIGEST_TAG} id="(d\d{{1,9}})"')
_SETTINGS = ("tool_choice", "thinking", "output_config", "reasoning", "reasoning_effort", "speed", "effort")
"""Request fields besides the text that invalidate a cache when they change."""
_HASH_BYTES = 12


@dataclass(frozen=True, slots=True)
class Layout:
    """What a cache sees of one request."""

    wire: str
    model: str
    settings: str
    """The hash of the settings that affect the cache."""
    places: tuple[Where, ...]
    """Which part of the request each block belongs to."""
    chain: tuple[bytes, ...]
    """For each block, the hash of it and everything before it."""
    digests: tuple[str, ...]
    """The ids of the digests in the request."""
    end_blocks: int = 0
    """The number of blocks at the end that will not be sent again."""

    @property
    def kept(self) -> int:
        """Return how many blocks will be sent again."""
        return len(self.chain) - self.end_blocks

    def shared(self, other: Layout) -> int:
        """Return how many blocks two requests have in common from the start."""
        low, high = 0, min(len(self.chain), len(other.chain))
        while low < high:  # binary search works because the hashes are chained
            middle = (low + high + 1) // 2
            if self.chain[middle - 1] == other.chain[middle - 1]:
                low = middle
            else:
                high = middle - 1
        return low


def layout_of(body: JsonObject, wire: str, end_blocks: int = 0) -> Layout:
    """Return what a cache sees of a request body."""
    places: list[Where] = []
    chain: list[bytes] = []
    digests: list[str] = []
    state = hashlib.sha256(wire.encode())
    for where, text in _blocks(body, wire):
        state.update(text.encode("utf-8", "surrogatepass"))
        places.append(where)
        chain.append(state.digest()[:_HASH_BYTES])
        if where == "messages" and DIGEST_TAG in text:
            digests += _DIGEST.findall(text.replace('\\"', '"'))
    settings = _text({name: body[name] for name in _SETTINGS if name in body})
    return Layout(
        wire,
        as_text(body.get("model")),
        hashlib.sha256(settings.encode()).hexdigest()[:16],
        tuple(places),
        tuple(chain),
        tuple(dict.fromkeys(digests)),
        end_blocks,
    )


def _blocks(body: JsonObject, wire: str) -> Iterator[tuple[Where, str]]:
    format_ = wire_named(wire)
    for tool in as_list(body.get("tools")):
        yield "tools", _text(tool)
    keys = (*format_.system_aliases, *([format_.system_key] if format_.system_key else []))
    for key in dict.fromkeys(keys):
        yield from (("system", _text(block)) for block in _content(body.get(key)))
    leading = format_.system_key is None
    for message in as_list(body.get(format_.list_key)):
        holder = as_object(message)
        leading = leading and holder.get("role") in ("system", "developer")
        where: Where = "system" if leading else "messages"
        yield from ((where, text) for text in _message(holder))


def _message(message: JsonObject) -> Iterator[str]:
    """Yield a message's blocks; its other fields are prepended to the first one."""
    key = "parts" if "parts" in message else "content"
    about = _text({name: value for name, value in message.items() if name != key})
    listed = _content(message.get(key)) or [None]
    for i, block in enumerate(listed):
        yield f"{about if i == 0 else ''}{_text(block)}"


def _content(value: Json) -> list[Json]:
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if isinstance(value, dict):
        return as_list(value.get("parts")) or [value]
    return as_list(value)


def _text(value: Json) -> str:
    if isinstance(value, dict) and "cache_control" in value:
        value = {key: member for key, member in value.items() if key != "cache_control"}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
