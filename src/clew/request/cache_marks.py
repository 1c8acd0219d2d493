"""Place cache marks (``cache_control``) in a request to Anthropic.

Anthropic caches everything before a mark, accepts at most four, and looks back from each mark over twenty
blocks for something cached. So marks go where an earlier request ended and where the next one will look:

1. after the system prompt, which survives every compaction;
2. after the last digest, which stays until the next compaction;
3. where the previous request ended: right before the model's last answer;
4. at the last block that will be sent again, before the volatile end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from clew.compaction.plan.render import TAG as DIGEST_TAG
from clew.message import Json, JsonObject
from clew.providers.marked_entries import UNMARKABLE
from clew.providers.shapes import as_list, as_object, as_text

CHARS_PER_TOKEN = 4
"""A rough estimate, enough to decide whether a mark is worth setting."""


@dataclass(frozen=True, slots=True)
class Marks:
    """How to mark a request."""

    minimum_tokens: int | None = 1_024
    """Shorter prefixes are not cached, so not marked; see ``Model.cache_minimum_tokens``. None: no marks."""
    life: Literal["5m", "1h"] = "5m"

    @property
    def value(self) -> JsonObject:
        """Return the mark as Anthropic's API writes it."""
        return {"type": "ephemeral"} if self.life == "5m" else {"type": "ephemeral", "ttl": self.life}


class Spot(NamedTuple):
    """The position of a block: in a message, or in the system prompt (message -1)."""

    message: int
    block: int


def add_cache_marks(body: JsonObject, marks: Marks, end_blocks: int = 0) -> JsonObject:
    """Return a request in Anthropic's format with cache marks; the last ``end_blocks`` are never cached.

    All content is written as blocks, so that moving a mark changes no other byte. A request that already has
    marks keeps them and gets no more.
    """
    whole = in_blocks(body)
    if marks.minimum_tokens is None or _has_marks(whole):
        return whole
    spots = [
        spot for spot in _spots(whole, end_blocks) if _tokens_before(whole, spot) >= marks.minimum_tokens
    ]
    for spot in dict.fromkeys(spots):
        whole = _with_mark(whole, spot, marks.value)
    return whole


def in_blocks(body: JsonObject) -> JsonObject:
    """Return a request with all its texts written as lists of blocks."""
    changed: JsonObject = {}
    if body.get("system") and isinstance(body["system"], str):  # the API rejects an empty block
        changed["system"] = _blocks(body["system"])
    if isinstance(body.get("messages"), list):
        changed["messages"] = [_message_in_blocks(as_object(value)) for value in as_list(body["messages"])]
    return {**body, **changed}


def _message_in_blocks(message: JsonObject) -> JsonObject:
    content = message.get("content")
    return {**message, "content": _blocks(content)} if isinstance(content, str) and content else message


def _blocks(text: Json) -> list[Json]:
    return [{"type": "text", "text": text}]


# Where -----------------------------------------------------------------------------------------------


def _spots(body: JsonObject, end_blocks: int) -> Iterator[Spot]:
    """Yield the positions worth marking, in request order: at most four, which is what the API accepts."""
    messages = as_list(body.get("messages"))
    yield from _last_of(body, -1)
    digests = [i for i, value in enumerate(messages) if _digest_at(value) is not None]
    if digests:
        yield Spot(digests[-1], _digest_at(messages[digests[-1]]) or 0)
    answers = [i for i, value in enumerate(messages) if as_object(value).get("role") == "assistant"]
    if answers and answers[-1] > 0:
        yield from _last_of(body, answers[-1] - 1)
    last = len(messages) - 1
    if end_blocks and last > 0 and len(_content(messages[last])) <= end_blocks:
        last, end_blocks = last - 1, 0  # the end is a message of its own
    yield from _last_of(body, last, end_blocks)


def _digest_at(message: Json) -> int | None:
    """Return which block of a message is its last digest; None if none is."""
    blocks = _content(message)
    is_digest = (as_text(as_object(block).get("text")).startswith(f"<{DIGEST_TAG} ") for block in blocks)
    return max((i for i, found in enumerate(is_digest) if found), default=None)


def _last_of(body: JsonObject, message: int, left_out: int = 0) -> Iterator[Spot]:
    """Yield the last block of a message (or the system prompt) that can be marked and will be sent again."""
    blocks = _content_of(body, message)
    for i in range(len(blocks) - 1 - left_out, -1, -1):
        block = as_object(blocks[i])
        if block.get("type") not in UNMARKABLE and block.get("text") != "":
            yield Spot(message, i)
            return


def _content_of(body: JsonObject, message: int) -> list[Json]:
    if message < 0:
        return as_list(body.get("system"))
    return _content(as_list(body.get("messages"))[message])


def _content(message: Json) -> list[Json]:
    return as_list(as_object(message).get("content"))


# How much --------------------------------------------------------------------------------------------


def _tokens_before(body: JsonObject, spot: Spot) -> float:
    """Estimate how many tokens a mark would cache. A mark set too early is wasted, not wrong."""
    size = _size(body.get("tools"))
    if spot.message >= 0:
        size += _size(body.get("system")) + _size(as_list(body.get("messages"))[: spot.message])
    size += _size(_content_of(body, spot.message)[: spot.block + 1])
    return size / CHARS_PER_TOKEN


def _size(value: Json) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(key) + _size(member) for key, member in value.items())
    return sum(map(_size, value)) if isinstance(value, list) else 1


def _has_marks(body: JsonObject) -> bool:
    if body.get("cache_control"):
        return True
    listed = (*as_list(body.get("tools")), *as_list(body.get("system")))
    inner = (block for value in as_list(body.get("messages")) for block in _content(value))
    return any(as_object(block).get("cache_control") for block in (*listed, *inner))


def _with_mark(body: JsonObject, spot: Spot, mark: JsonObject) -> JsonObject:
    blocks = list(_content_of(body, spot.message))
    blocks[spot.block] = {**as_object(blocks[spot.block]), "cache_control": mark}
    if spot.message < 0:
        return {**body, "system": blocks}
    messages = list(as_list(body["messages"]))
    messages[spot.message] = {**as_object(messages[spot.message]), "content": blocks}
    return {**body, "messages": messages}
