"""Check decoded JSON values: bounded nesting, and nothing that UTF-8 cannot encode.

Python decodes JSON almost as deep as its stack, so a decoded value may still break code that walks, compares
or writes it a few calls further down. Values nested deeper than any real message are refused here.
"""

from __future__ import annotations

import json
import re

from clew.message import Json

MAX_DEPTH = 200
TOO_DEEP = "JSON nested too deeply"
_DEEP = "is nested too deeply"
HALF_PAIR = "half a surrogate pair, replaced"
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
    mended, had_half = without_half_pairs(value)
    return mended, f"has {HALF_PAIR}" if had_half else None


def is_too_deep(value: Json, text: str, start: int = 0, end: int | None = None) -> bool:
    """Return True if a value is nested too deep; counting brackets in its text settles most cases."""
    stop = len(text) if end is None else end
    return text.count("{", start, stop) + text.count("[", start, stop) > MAX_DEPTH and _is_deep(value)


def _is_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for holder in level for inner in _inside(holder) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _inside(holder: Json) -> list[Json]:
    if isinstance(holder, dict):
        return list(holder.values())
    return holder if isinstance(holder, list) else []


def has_surrogate_escape(text: str) -> bool:
    """Return True if a JSON text may contain half a surrogate pair."""
    # Searching for two characters first is several times faster, and they are rare.
    return ("\\ud" in text or "\\uD" in text) and _SURROGATE_ESCAPE.search(text) is not None


def without_half_pairs(value: Json) -> tuple[Json, bool]:
    """Replace half surrogate pairs, which UTF-8 cannot encode; the second result is True if any."""
    text = json.dumps(value, ensure_ascii=False)
    mended = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if mended == text:
        return value, False
    return json.loads(mended), True
