"""Read JSON of unknown shape without raising.

Rules check bodies built by others, so they cannot assume any shape. These functions return the value if it
has the expected type and an empty one if not; separate rules report wrong shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from clew.message import Json, JsonObject

Shape = type | tuple[type, ...]

_NAMES: dict[type, str] = {str: "a string", dict: "an object", list: "a list", type(None): "null"}


def as_object(value: Json) -> JsonObject:
    """Return the object, or an empty one."""
    return value if isinstance(value, dict) else {}


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


def misfits(value: JsonObject, wanted: Mapping[str, Shape]) -> Iterator[tuple[str, str]]:
    """Yield each field that does not have its type, with a message that names the type."""
    for field, shape in wanted.items():
        if not isinstance(value.get(field), shape):
            yield field, f"must be {name_of(shape)}"


def name_of(shape: Shape) -> str:
    """Return a type or a tuple of types in words: ``a string or a list``."""
    shapes = shape if isinstance(shape, tuple) else (shape,)
    return " or ".join(_NAMES[one] for one in shapes)


def misfit_numbers(
    value: JsonObject, whole: Iterable[str], any_number: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Yield each given field that is not a number of its type, with a message that names the type."""
    for field in whole:
        given = value.get(field)
        if given is not None and (not isinstance(given, int) or isinstance(given, bool)):
            yield field, "must be a whole number"
    for field in any_number:
        if value.get(field) is not None and as_number(value[field]) is None:
            yield field, "must be a number"
