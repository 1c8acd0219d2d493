"""Parse a summariser's answer in any form: JSON, JSON lines, JSON within prose, truncated JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from clew.compaction.plan import ClaimKind
from clew.message import Json, JsonObject

LONGEST_ANSWER = 400_000
"""Characters that are parsed."""
MOST_CLAIMS = 1_000
MOST_BROKEN = 1_000
"""Unreadable objects after which parsing stops: each costs its length."""
DEEPEST = 4
"""Levels of wrapping around the claims that are followed."""

_OBJECT = re.compile(r'\{(?=\s*")')
_DECODER = json.JSONDecoder(strict=False)
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_KINDS = {kind.value: kind for kind in ClaimKind}


class Told(NamedTuple):
    """A claim as the summariser wrote it."""

    kind: ClaimKind
    text: str
    sources: tuple[str, ...]
    """As given."""


def read_answer(text: str) -> list[Told] | None:
    """Return the claims of an answer; None if it has no list of claims, not even an empty one."""
    found: list[Told] = []
    is_list = False
    for value in _objects(_THINKING.sub("", text[:LONGEST_ANSWER])):
        is_list = is_list or isinstance(value.get("claims"), list)
        found += (told for one in _claim_objects(value) if (told := _told(one)))
    return found[:MOST_CLAIMS] if found or is_list else None


def _objects(text: str) -> Iterator[JsonObject]:
    """Yield the JSON objects in a text; of a truncated or broken one those inside it."""
    broken = end = 0
    for start in _OBJECT.finditer(text):
        if start.start() < end:
            continue  # inside an object already read
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            broken += 1
            if broken == MOST_BROKEN:
                return
        else:
            yield value


def _claim_objects(value: Json, depth: int = 0) -> Iterator[JsonObject]:
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        yield value
    elif isinstance(value, dict | list) and depth < DEEPEST:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _claim_objects(inner, depth + 1)


def _told(value: JsonObject) -> Told | None:
    text = _UNWRITABLE.sub("", str(value["text"])).strip()
    kind = _KINDS.get(str(value.get("kind")).strip().lower(), ClaimKind.FACT)
    sources = tuple(_names(value.get("sources", value.get("source"))))
    return Told(kind, text, sources) if text else None


def _names(value: Json) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            yield one
        elif isinstance(one, int) and not isinstance(one, bool):
            yield f"m{one}"
