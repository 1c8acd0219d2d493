"""JSON values as they come in: not nested without end, and nothing in them that UTF-8 cannot hold.

Python reads JSON almost as deep as its stack, so a value that could be read may still break whoever walks,
compares or writes it a few calls further down. What is nested deeper than any message is, is refused here.
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
    """Decode a text that is one JSON value; what it is or has that is wrong comes back as the second."""
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
    """Tell whether a value is nested deeper than allowed; the text it was read from settles most cases."""
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
    """Tell whether a JSON text may hold half a surrogate pair."""
    # Looking for two characters first is several times faster, and they are rare.
    return ("\\ud" in text or "\\uD" in text) and _SURROGATE_ESCAPE.search(text) is not None


def without_half_pairs(value: Json) -> tuple[Json, bool]:
    """Replace half surrogate pairs, which no UTF-8 can hold; tell whether there was any."""
    text = json.dumps(value, ensure_ascii=False)
    mended = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if mended == text:
        return value, False
    return json.loads(mended), True
