"""Build and read tool parameters as JSON schema that every provider accepts in strict mode.

Strict mode requires every property to be listed as required, so an optional one may be null instead. A model
that omits it anyway is accepted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from clew.errors import InputError
from clew.message import Json, JsonObject

_TYPES: dict[str, type] = {"string": str, "integer": int, "array": list}
_CALLED = {"string": "text", "integer": "a whole number", "array": "a list of texts"}


def text(about: str, *, optional: bool = False, of: type[StrEnum] | Sequence[str] = ()) -> JsonObject:
    """Return the schema of a text, or of one of some words."""
    property_ = _property("string", about, optional)
    if of:
        property_["enum"] = [*(str(one) for one in of), *([None] if optional else [])]
    return property_


def whole(about: str, *, optional: bool = False) -> JsonObject:
    """Return the schema of an integer."""
    return _property("integer", about, optional)


def texts(about: str, *, optional: bool = False) -> JsonObject:
    """Return the schema of a list of texts."""
    return {**_property("array", about, optional), "items": {"type": "string"}}


def _property(kind: str, about: str, optional: bool) -> JsonObject:
    return {"type": [kind, "null"] if optional else kind, "description": about}


def takes(**properties: JsonObject) -> JsonObject:
    """Return the schema of a tool's parameters."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def read_arguments(schema: JsonObject, given: Mapping[str, Any] | str) -> dict[str, Any]:
    """Return the value of each property, None if omitted; raise ``InputError`` for invalid arguments."""
    values = _object(given)
    properties: dict[str, Any] = schema["properties"]  # type: ignore[assignment]  # as ``takes`` wrote it
    unknown = [name for name in values if name not in properties]
    wrong = [f"there is no argument {name!r}" for name in unknown]
    wrong += [
        said for name, one in properties.items() if (said := _what_is_wrong(name, one, values.get(name)))
    ]
    if wrong:
        raise InputError("; ".join(wrong), f"it takes {', '.join(properties) or 'nothing'}")
    return {name: values.get(name) for name in properties}


def between(given: Mapping[str, Any], name: str, least: int, most: int, default: int) -> int:
    """Return the given number, or a default; raise ``InputError`` if it is out of bounds."""
    number: int | None = given[name]
    if number is None:
        return default
    if not least <= number <= most:
        raise InputError(f"{name} is {number}", f"it must be from {least} to {most}")
    return number


def _object(given: Mapping[str, Any] | str) -> Mapping[str, Any]:
    if not isinstance(given, str):
        return given
    try:
        values = json.loads(given or "{}")
    except (ValueError, RecursionError) as cause:
        raise InputError(f"the arguments are not JSON ({cause})", "give an object") from cause
    if not isinstance(values, dict):
        raise InputError("the arguments are not an object", "give an object")
    return values


def _what_is_wrong(name: str, schema: Mapping[str, Any], value: Json) -> str:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if value is None:
        return "" if "null" in kinds else f"{name} is missing"
    if isinstance(value, bool) or not isinstance(value, _TYPES[kinds[0]]):
        return f"{name} is not {_CALLED[kinds[0]]}"
    if isinstance(value, list) and not all(isinstance(one, str) for one in value):
        return f"{name} is not a list of texts"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name} is not one of {', '.join(one for one in schema['enum'] if one)}"
    return ""
