"""What a prompt cache sees of a request, why it missed, and the call as the log records it.

``cause_of_miss`` compares two requests: "the system prompt changed at block 3", "the prefix changed at block
9 by compaction d2". A cache sees blocks in the order tools, system prompt, messages. Only chained hashes are
kept: if two requests agree at a block, they agree in everything before it. Cache marks are ignored, because
moving one does not invalidate a cache, and so is the form of a text: providers treat a string and a list of
one text block alike.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Literal, TypeAlias

from clew.budget import FIVE_MINUTES
from clew.compaction.plan.render import TAG as DIGEST_TAG
from clew.message import Json, JsonObject, Usage
from clew.providers.formats import wire_named
from clew.providers.shapes import as_list, as_object, as_text

Where: TypeAlias = Literal["tools", "system", "messages"]
# The opening tag of a digest: <clew-digest id="d3" …
_DIGEST = re.compile(rf'<{DIGEST_TAG} id="(d\d{{1,9}})"')
_SETTINGS = ("tool_choice", "thinking", "output_config", "reasoning", "reasoning_effort", "speed", "effort")
"""Request fields besides the text that invalidate a cache when they change."""
_HASH_BYTES = 12


@dataclass(frozen=True, slots=True)
class RequestLayout:
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

    def shared(self, other: RequestLayout) -> int:
        """Return how many blocks two requests have in common from the start."""
        low, high = 0, min(len(self.chain), len(other.chain))
        while low < high:  # binary search works because the hashes are chained
            middle = (low + high + 1) // 2
            if self.chain[middle - 1] == other.chain[middle - 1]:
                low = middle
            else:
                high = middle - 1
        return low


def layout_of(body: JsonObject, wire: str, end_blocks: int = 0) -> RequestLayout:
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
    return RequestLayout(
        wire,
        as_text(body.get("model")),
        hashlib.sha256(settings.encode("utf-8", "surrogatepass")).hexdigest()[:16],
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
    if isinstance(value, dict) and ("cache_control" in value or isinstance(value.get("content"), list)):
        value = _unmarked(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _unmarked(block: JsonObject) -> JsonObject:
    """Return a block without its cache mark and those of the blocks in it, as a tool result has them."""
    block = {key: member for key, member in block.items() if key != "cache_control"}
    if isinstance(inner := block.get("content"), list):
        block["content"] = [_unmarked(one) if isinstance(one, dict) else one for one in inner]
    return block


class Miss(StrEnum):
    """Reasons for a cache miss, in the order in which they are checked."""

    NONE = "none"
    """Everything sent before is sent again unchanged."""
    FIRST = "first"
    MODEL = "model changed"
    TOOLS = "tools changed"
    SYSTEM = "system changed"
    SETTINGS = "settings changed"
    COMPACTION = "compaction"
    UNDO = "undo"
    PREFIX = "prefix changed"
    EXPIRED = "expired"
    BELOW_MINIMUM = "below minimum"
    UNKNOWN = "unknown"
    """Nothing changed, but the provider read nothing from its cache."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a cache missed, or ``Miss.NONE``."""

    miss: Miss
    why: str
    """The explanation shown to people."""
    block: int | None = None
    """The first block that differs, counted from 1; None if none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheConditions:
    """Conditions besides the bytes that decide whether a cached prefix can be read."""

    seconds_since: float = 0.0
    """Since the previous request."""
    life_seconds: float = FIVE_MINUTES
    prefix_tokens: int | None = None
    """Tokens of the prefix that both requests share; None if not counted."""
    minimum_tokens: int | None = None
    """The shortest prefix that the provider caches."""


ALIVE = CacheConditions()


def cause_of_miss(before: RequestLayout | None, after: RequestLayout, life: CacheConditions = ALIVE) -> Cause:
    """Return why the second of two requests cannot read all of the first from the cache."""
    if before is None:
        return Cause(Miss.FIRST, "no earlier request is known")
    if before.wire != after.wire:
        return Cause(Miss.MODEL, f"the format changed from {before.wire} to {after.wire}", 1)
    if before.model != after.model:
        return Cause(Miss.MODEL, f"the model changed from {before.model or '?'} to {after.model or '?'}", 1)
    shared = before.shared(after)
    if shared < before.kept:
        return _change_cause(before, after, shared)
    if before.settings != after.settings:
        return Cause(Miss.SETTINGS, "the choice of tools, or the settings for thinking, changed")
    if life.seconds_since >= life.life_seconds:
        return Cause(
            Miss.EXPIRED,
            f"{life.seconds_since:,.0f} seconds passed; the cache lives {life.life_seconds:,.0f}",
        )
    least = life.minimum_tokens
    if least is not None and life.prefix_tokens is not None and life.prefix_tokens < least:
        return Cause(
            Miss.BELOW_MINIMUM, f"{life.prefix_tokens:,} shared tokens, below the minimum of {least:,}"
        )
    return Cause(Miss.NONE, "all that was sent before was sent again")


def _change_cause(before: RequestLayout, after: RequestLayout, shared: int) -> Cause:
    block = shared + 1
    # If one of the two requests ends here, the other's block was added or removed.
    places = {layout.places[shared] for layout in (before, after) if shared < len(layout.places)}
    if "tools" in places:
        return Cause(Miss.TOOLS, f"the list of tools changed at block {block}", block)
    if "system" in places:
        return Cause(Miss.SYSTEM, f"the system prompt changed at block {block}", block)
    added, removed = _latest(after), _latest(before)
    if added > removed:
        return Cause(Miss.COMPACTION, f"the prefix changed at block {block} by compaction d{added}", block)
    if removed > added:
        return Cause(Miss.UNDO, f"the prefix changed at block {block} by the undo of d{removed}", block)
    return Cause(Miss.PREFIX, f"the prefix changed at block {block}", block)


def _latest(layout: RequestLayout) -> int:
    """Return the number of the newest digest in a request; 0 if it has none."""
    return max((int(digest.removeprefix("d")) for digest in layout.digests), default=0)


@dataclass(frozen=True, slots=True)
class Call:
    """The usage of one request and its cache outcome."""

    layout: RequestLayout
    usage: Usage
    cause: Cause
    missed_tokens: int = 0
    """Tokens that the previous request left in the cache and this one did not read."""

    @classmethod
    def after(
        cls, before: Call | None, layout: RequestLayout, usage: Usage, life: CacheConditions = ALIVE
    ) -> Call:
        """Return a call with the cause of its cache miss, judged against the previous call."""
        kept = before.kept_tokens if before else 0
        missed = max(0, kept - usage.cache_read_tokens)
        if life.prefix_tokens is None and before:
            life = replace(life, prefix_tokens=before.usage.input_tokens)
        cause = cause_of_miss(before.layout if before else None, layout, life)
        if cause.miss is Miss.NONE and missed and not usage.cache_read_tokens:
            cause = Cause(Miss.UNKNOWN, "nothing changed, and the provider read nothing from its cache")
        return cls(layout, usage, cause, missed)

    @property
    def kept_tokens(self) -> int:
        """Return the tokens the next request can read from the cache.

        Anthropic reports what it stores; other providers are assumed to store the whole input.
        """
        if self.layout.wire == "anthropic":
            return self.usage.cache_read_tokens + self.usage.cache_write_tokens
        return self.usage.input_tokens

    def to_json(self) -> JsonObject:
        """Return the body of the event of kind ``call``."""
        return {
            "wire": self.layout.wire,
            "model": self.layout.model,
            "blocks": self.layout.kept,
            "prefix": self.layout.chain[self.layout.kept - 1].hex() if self.layout.kept else "",
            "usage": asdict(self.usage),
            "cache": {
                "read": self.usage.cache_read_tokens,
                "written": self.usage.cache_write_tokens,
                "missed": self.missed_tokens,
                "cause": self.cause.miss.value,
                "why": self.cause.why,
                "block": self.cause.block,
            },
        }
