"""Read fields of unchecked JSON: each function returns a value of its type, or an empty one.

``string({"id": 3}, "id")`` is None, ``mapping(record, "message", "usage")`` is ``{}`` if any step is missing.
Python decodes JSON almost as deep as its stack, so a decoded value may still break code that walks, compares
or writes it a few calls further down. Values nested deeper than any real message are refused here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import PurePath

from clew.message import Json, JsonObject
from clew.transcripts.records import Problem
from clew.transcripts.source import Source

MAX_DEPTH = 200
"""The deepest nesting of objects and lists that is read; real messages have a few dozen levels."""
TOO_DEEP = "JSON nested too deeply"
_DEEP = "is nested too deeply"
HALF_PAIR = "half a surrogate pair, replaced"
# The escape of half a surrogate pair, such as \ud83d; a whole pair consists of two.
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def value_of(text: str) -> tuple[Json, str | None]:
    """Decode a text that is one JSON value; the second result says what is wrong with it."""
    try:
        value: Json = json.loads(text)
    except RecursionError:
        return None, _DEEP
    except ValueError as cause:
        return None, f"is not JSON ({cause})"
    if is_too_deep(value, text):
        return None, _DEEP
    if not has_surrogate_escape(text):
        return value, None
    repaired, had_half = without_half_pairs(value)
    return repaired, f"has {HALF_PAIR}" if had_half else None


def is_too_deep(value: Json, text: str, start: int = 0, end: int | None = None) -> bool:
    """Return True if a value is nested too deep; counting brackets in its text settles most cases."""
    stop = len(text) if end is None else end
    return text.count("{", start, stop) + text.count("[", start, stop) > MAX_DEPTH and _is_deep(value)


def _is_deep(value: Json) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        inside = (holder.values() if isinstance(holder, dict) else holder for holder in level)
        level = [inner for values in inside for inner in values if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def has_surrogate_escape(text: str, start: int = 0, end: int | None = None) -> bool:
    """Return True if a JSON text may contain half a surrogate pair between two positions."""
    stop = len(text) if end is None else end
    # Searching for a fixed text first is several times faster, and it is rare.
    if text.find("\\ud", start, stop) < 0 and text.find("\\uD", start, stop) < 0:
        return False
    return _SURROGATE_ESCAPE.search(text, start, stop) is not None


def without_half_pairs(value: Json) -> tuple[Json, bool]:
    """Replace half surrogate pairs, which UTF-8 cannot encode; the second result is True if any."""
    text = json.dumps(value, ensure_ascii=False)
    repaired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if repaired == text:
        return value, False
    return json.loads(repaired), True


_MILLISECONDS_FROM = 1e11
"""A larger number is a time in milliseconds: as seconds it would be three thousand years ahead."""
_PACKED = (".gz", ".zst")


def string(holder: JsonObject, key: str) -> str | None:
    """Return the text under a key; None if it is missing, empty or not text."""
    value = holder.get(key)
    return value if isinstance(value, str) and value else None


def count(holder: JsonObject, key: str) -> int:
    """Return the whole number under a key; 0 if there is none."""
    value = holder.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def mapping(holder: JsonObject, *keys: str) -> JsonObject:
    """Return the object at a path of keys; an empty one if there is none."""
    value: Json = holder
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def objects(value: Json) -> Iterator[JsonObject]:
    """Yield the objects of a list; nothing if it is not a list."""
    if isinstance(value, list):
        yield from (element for element in value if isinstance(element, dict))


def time_of(value: Json) -> str | None:
    """Return a time as ISO 8601: text unchanged, a number of seconds or milliseconds as UTC."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = value / 1000 if value > _MILLISECONDS_FROM else value
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def name_of(source: Source, *endings: str) -> str:
    """Return a source's file name without its suffixes: the session id if the file itself has none."""
    name = PurePath(source.name).name
    for ending in (*_PACKED, *endings):
        name = name.removesuffix(ending)
    return name


class Ids:
    """Gives every entry of a session a unique id, whatever its file says."""

    def __init__(self) -> None:
        """Start without ids."""
        self._taken: dict[str, int] = {}

    def unique(self, wanted: str | None, fallback: str) -> str:
        """Return the wanted id; a repeated id gets a number, a missing one becomes the fallback."""
        base = wanted or fallback
        if base not in self._taken:
            self._taken[base] = 1
            return base
        times = self._taken[base] + 1
        while (name := f"{base}~{times}") in self._taken:
            times += 1
        self._taken[base], self._taken[name] = times, 1
        return name

    def repeated(self, wanted: str | None, line: int | None) -> Iterator[Problem]:
        """Report an id at its second use; only once, since a file may repeat it thousands of times."""
        if wanted and self._taken.get(wanted) == 2:
            yield Problem(f"the id {wanted!r} is used more than once; later ones are numbered", line)


class NameLimit:
    """Limits how many entries the compactions of a session may name in total.

    Each compaction may claim to keep everything before it, so a file of nothing but compactions would take
    quadratic time.
    """

    def __init__(self, entries: int = 1_000_000) -> None:
        """Allow this many names in total."""
        self._left = entries

    def covers(self, entries: int) -> bool:
        """Return True and count them if this many more are allowed."""
        if entries > self._left:
            return False
        self._left -= entries
        return True
