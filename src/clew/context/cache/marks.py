"""Where a request to Anthropic is marked for its cache.

Anthropic keeps what stands before a mark, takes at most four, and looks back from each over twenty blocks
for something it has kept. So the marks stand where an earlier request ended, and where the next one can
look for this one:

1. behind the system prompt, which outlives every compaction;
2. behind the last digest, which stays until the next one;
3. where the request before this one ended: right before the model's last answer, however many blocks ago;
4. at the end of what will be sent again: the last block before the volatile end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from clew.message import Json, JsonObject
from clew.plan.render import TAG as DIGEST_TAG
from clew.wire.shapes import as_list, as_object, as_text

MOST_MARKS = 4
CHARS_PER_TOKEN = 4
_UNMARKED = frozenset({"thinking", "redacted_thinking"})
"""Kinds of blocks that cannot hold a mark."""


@dataclass(frozen=True, slots=True)
class Marks:
    """How a request is to be marked."""

    minimum_tokens: int | None = 1_024
    """Shorter prefixes are not kept, so not marked; ``Model.cache_minimum_tokens``. None: nothing is kept."""
    life: Literal["5m", "1h"] = "5m"

    @property
    def value(self) -> JsonObject:
        """Return the mark as it is written."""
        return {"type": "ephemeral"} if self.life == "5m" else {"type": "ephemeral", "ttl": self.life}


class Spot(NamedTuple):
    """A block: of the system prompt (message -1), or of a message."""

    message: int
    block: int


def marked(body: JsonObject, marks: Marks, end_blocks: int = 0) -> JsonObject:
    """Return a request in Anthropic's format with its marks; the last ``end_blocks`` are never kept.

    All content is written as blocks, so that a mark that moves on changes no byte that stays. A request
    that has marks of its own keeps them, and gets no more.
    """
    whole = in_blocks(body)
    if marks.minimum_tokens is None or _has_marks(whole):
        return whole
    spots = [
        spot for spot in _spots(whole, end_blocks) if _tokens_before(whole, spot) >= marks.minimum_tokens
    ]
    for spot in list(dict.fromkeys(spots))[-MOST_MARKS:]:
        whole = _with_mark(whole, spot, marks.value)
    return whole


def in_blocks(body: JsonObject) -> JsonObject:
    """Return a request with all its texts written as lists of blocks."""
    changed: JsonObject = {}
    if isinstance(body.get("system"), str):
        changed["system"] = _blocks(body["system"])
    if isinstance(body.get("messages"), list):
        changed["messages"] = [_message_in_blocks(as_object(one)) for one in as_list(body["messages"])]
    return {**body, **changed}


def _message_in_blocks(message: JsonObject) -> JsonObject:
    content = message.get("content")
    return {**message, "content": _blocks(content)} if isinstance(content, str) and content else message


def _blocks(text: Json) -> list[Json]:
    return [{"type": "text", "text": text}]


# Where -----------------------------------------------------------------------------------------------


def _spots(body: JsonObject, end_blocks: int) -> Iterator[Spot]:
    """Yield where marks are worth having, in the order of the request."""
    messages = as_list(body.get("messages"))
    yield from _last_of(body, -1)
    digests = [i for i, one in enumerate(messages) if _digest_at(one) is not None]
    if digests:
        yield Spot(digests[-1], _digest_at(messages[digests[-1]]) or 0)
    answers = [i for i, one in enumerate(messages) if as_object(one).get("role") == "assistant"]
    if answers and answers[-1] > 0:
        yield from _last_of(body, answers[-1] - 1)
    last = len(messages) - 1
    if end_blocks and last > 0 and len(_content(messages[last])) <= end_blocks:
        last, end_blocks = last - 1, 0  # the end is a message of its own
    yield from _last_of(body, last, end_blocks)


def _digest_at(message: Json) -> int | None:
    """Return which block of a message is a digest; None where none is."""
    for i, block in enumerate(_content(message)):
        if as_text(as_object(block).get("text")).startswith(f"<{DIGEST_TAG} "):
            return i
    return None


def _last_of(body: JsonObject, message: int, left_out: int = 0) -> Iterator[Spot]:
    """Yield the last block of a message, or of the system prompt, that can be marked and is kept."""
    blocks = _content_of(body, message)
    for i in range(len(blocks) - 1 - left_out, -1, -1):
        block = as_object(blocks[i])
        if block.get("type") not in _UNMARKED and block.get("text") != "":
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
    """Return about how many tokens a mark would keep: a mark too early is wasted, not wrong."""
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
    inner = (block for one in as_list(body.get("messages")) for block in _content(one))
    return any(as_object(block).get("cache_control") for block in (*listed, *inner))


def _with_mark(body: JsonObject, spot: Spot, mark: JsonObject) -> JsonObject:
    blocks = list(_content_of(body, spot.message))
    blocks[spot.block] = {**as_object(blocks[spot.block]), "cache_control": mark}
    if spot.message < 0:
        return {**body, "system": blocks}
    messages = list(as_list(body["messages"]))
    messages[spot.message] = {**as_object(messages[spot.message]), "content": blocks}
    return {**body, "messages": messages}
