"""Compare entries of message lists without their cache marks, remove the marks and put them back.

Used if a caller passes the whole list at every turn: the entries of the last turn are recognised in it.

Clients of Anthropic mark the last messages of each request for the prompt cache (``cache_control``) and
unmark those of the previous request; some write a text as a block to be able to mark it. Bedrock uses a
separate block as a mark (``cachePoint``). None of this changes the content of a message: to clew, ``"hi"``
and ``[{"type": "text", "text": "hi", "cache_control": …}]`` are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from clew.message import Json, JsonObject

MARK = "cache_control"
POINT = "cachePoint"
UNMARKABLE = frozenset({"thinking", "redacted_thinking"})
"""Block types that Anthropic does not allow a mark on."""
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def same_entry(item: Any, other: Any) -> bool:  # noqa: ANN401  # dictionaries, or objects of SDKs
    """Whether two entries are equal apart from cache marks."""
    if item is other:
        return True
    if type(item) is not type(other):
        return False
    return bool(item == other) or (isinstance(item, dict) and without_marks(item) == without_marks(other))


def common_prefix(entries: Sequence[Any], known: Sequence[Any], count: int | None = None) -> int:
    """Return the length of the common prefix of a list and the first ``count`` entries of a known one."""
    shared = min(len(entries), len(known) if count is None else count)
    if leading(entries, shared) == leading(known, shared):  # fast: the same objects are not compared by value
        return shared
    for place in range(shared):
        if not same_entry(entries[place], known[place]):
            return place
    return shared


def leading(entries: Sequence[Any], count: int) -> Sequence[Any]:
    """Return the first entries of a list; the list itself, not a copy, if those are all."""
    return entries if len(entries) == count else entries[:count]


def without_marks(entry: JsonObject) -> JsonObject:
    """Return an entry without marks, with a single text block as a string; the same object if unchanged."""
    bare = _unmarked_block(entry)
    content = bare.get("content")
    if isinstance(content, list) and len(content) == 1:
        block = content[0]
        if isinstance(block, dict) and block.get("type") == "text" and block.keys() == {"type", "text"}:
            return {**bare, "content": block["text"]}
    return bare


def _unmarked_block(block: JsonObject) -> JsonObject:
    """Return a block without its mark and those of the blocks in it; the same object if there are none."""
    bare = {key: value for key, value in block.items() if key != MARK} if MARK in block else block
    content = bare.get("content")
    if not isinstance(content, list):
        return bare
    blocks = [
        _unmarked_block(value) if isinstance(value, dict) else value
        for value in content
        if not _is_point(value)
    ]
    same = len(blocks) == len(content) and all(new is old for new, old in zip(blocks, content, strict=True))
    return bare if same else {**bare, "content": blocks}


def _is_point(block: Json) -> bool:
    return isinstance(block, dict) and POINT in block


def marks_in(entry: Any) -> list[Json]:  # noqa: ANN401  # dictionaries, or objects of SDKs
    """Return the marks of an entry in order: their values, or the whole block if a block is the mark."""
    if not isinstance(entry, dict) or (MARK not in entry and not isinstance(entry.get("content"), list)):
        return []  # most entries
    return list(_marks(entry))


def _marks(block: JsonObject) -> Iterator[Json]:
    if block.get(MARK) is not None:
        yield block[MARK]
    content = block.get("content")
    for value in content if isinstance(content, list) else ():
        if isinstance(value, dict):
            if POINT in value:
                yield value
            else:
                yield from _marks(value)


def with_mark(entry: JsonObject, mark: Json) -> JsonObject | None:
    """Return an entry with a mark on its last block, or None if it cannot have one."""
    content = entry.get("content")
    if _is_point(mark):
        return {**entry, "content": [*content, mark]} if isinstance(content, list) else None
    if isinstance(content, str) and content:
        return {**entry, "content": [{"type": "text", "text": content, MARK: mark}]}
    blocks = list(content) if isinstance(content, list) else []
    for place in reversed(range(len(blocks))):
        block = blocks[place]
        if isinstance(block, dict) and block.get("type") not in UNMARKABLE and block.get("text") != "":
            blocks[place] = {**block, MARK: mark}
            return {**entry, "content": blocks}
    return None


def place_marks(shown: list[Any], marks: Iterable[tuple[int, Json]]) -> list[Any]:
    """Return a list with marks put back, each as near as possible to its place.

    A mark goes to the entry at its place if that has none, else to the nearest one without, earlier first.
    """
    placed = list(shown)
    for place, mark in marks:
        near = sorted(range(len(placed)), key=lambda at, place=place: (abs(at - place), at))  # type: ignore[misc]
        for at in near:
            entry = placed[at]
            new = with_mark(entry, mark) if isinstance(entry, dict) and not marks_in(entry) else None
            if new is not None:
                placed[at] = new
                break
    return placed


def chain_hash(values: Iterable[Json]) -> str:
    """Return a hash of a list of JSON values that is the same in every process."""
    digest = b""
    for value in values:
        text = _encode(value).encode("utf-8", "surrogatepass")
        digest = blake2b(text, digest_size=16, key=digest).digest()
    return digest.hex()
