"""Read JSON of unknown shape without raising, and convert SDK objects to plain JSON.

Rules check bodies built by others, so they cannot assume any shape. The ``as_`` functions return the value if
it has the expected type and an empty one if not; separate rules report wrong shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clew.errors import InputError
from clew.message import Json, JsonObject


def as_object(value: Json) -> JsonObject:
    """Return the object, or an empty one."""
    return value if isinstance(value, dict) else {}


def object_or_none(value: Json) -> JsonObject | None:
    """Return the object, or None."""
    return value if isinstance(value, dict) else None


def as_list(value: Json) -> list[Json]:
    """Return the list, or an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Json) -> str:
    """Return the string, or an empty one."""
    return value if isinstance(value, str) else ""


def as_number(value: Json) -> float | None:
    """Return the number, or None; booleans are not numbers."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def objects(value: Json) -> Iterator[tuple[int, JsonObject]]:
    """Yield the objects of a list with their indexes."""
    for i, item in enumerate(as_list(value)):
        if isinstance(item, dict):
            yield i, item


_DUMPS = ("model_dump", "to_dict", "dict")
"""Methods with which SDK objects export their fields, the most faithful first."""

_PLAIN_TYPES = frozenset({str, float, bool, type(None)})
"""Types whose values need no check: an integer may be too long."""
LONGEST_NUMBER_BITS = 14_000
"""About 4,200 decimal digits: Python refuses to write integers of more than 4,300."""


def plain(value: Any) -> Any:  # noqa: ANN401  # any object of an SDK
    """Return a value as plain JSON; the same object if it is plain already."""
    kind = type(value)
    if kind in _PLAIN_TYPES or (kind is dict and _PLAIN_TYPES.issuperset(map(type, value.values()))):
        return value  # most values, and most messages without tool calls
    if isinstance(value, int) and value.bit_length() > LONGEST_NUMBER_BITS:
        what = "the message list contains an integer with thousands of digits"
        raise InputError(what, "JSON writers reject it: pass it as a string")
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        members = {key: plain(member) for key, member in value.items()}
        same = isinstance(value, dict) and all(members[key] is value[key] for key in value)
        return value if same else members
    if isinstance(value, list | tuple):
        items = [plain(item) for item in value]
        same = isinstance(value, list) and all(new is old for new, old in zip(items, value, strict=True))
        return value if same else items
    for name in _DUMPS:
        dump = getattr(value, name, None)
        if callable(dump):
            # Unset fields would be sent as null, which some APIs refuse.
            return plain(dump(exclude_unset=True) if name == "model_dump" else dump())
    raise InputError(
        f"the message list contains an object of type {type(value).__name__}",
        "pass dictionaries or SDK objects",
    )
