"""Convert ledger state to JSON and back by type annotations, and copy it.

Supports JSON scalars, enums, named tuples (as lists), data classes (as objects without fields that have their
default), tuples and lists of one type, dictionaries (as lists of pairs), and ``None`` as an alternative.
Fields with ``init=False`` are derived and not written. A renamed field keeps the name that earlier versions
wrote (``STORED_NAME`` in its metadata).
"""

# ruff: noqa: ANN401  # fields of any type, and unvalidated JSON

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from clew.message import Json

_T = TypeVar("_T")

STORED_NAME = "stored_name"
"""Key in a field's metadata: the name under which it is written."""


def to_json(value: Any) -> Json:
    """Return a value as JSON."""
    if isinstance(value, Enum):
        return typing.cast(Json, value.value)
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return [[to_json(key), to_json(item)] for key, item in value.items()]
    if dataclasses.is_dataclass(value):
        return {
            _stored_name(field): to_json(item)
            for field in dataclasses.fields(value)
            if field.init and (item := getattr(value, field.name)) != field.default
        }
    return typing.cast(Json, value)


def from_json(kind: type[_T], value: Json) -> _T:
    """Return the value of this type that was written as this JSON."""
    return typing.cast(_T, _reader(typing.cast(Any, kind))(value))


def copy_tracker(keeper: _T) -> _T:
    """Return an independent copy of a tracker; the frozen values in it are shared."""
    fields = dataclasses.fields(keeper)  # type: ignore[arg-type]  # keepers are data classes
    return type(keeper)(
        **{field.name: _copied(getattr(keeper, field.name)) for field in fields if field.init}
    )


def _copied(value: Any) -> Any:
    if isinstance(value, list | dict):
        return value.copy()
    if dataclasses.is_dataclass(value) and type(value).__hash__ is None:  # not frozen: a keeper in a keeper
        return copy_tracker(value)
    return value


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return the function that reads a value of this type; built once per type."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        (known,) = (option for option in inner if option is not type(None))
        read = _reader(known)
        return lambda value: None if value is None else read(value)
    if origin in (tuple, list):
        item = _reader(inner[0])
        return lambda value: origin(item(one) for one in value)
    if origin is dict:
        key, item = _reader(inner[0]), _reader(inner[1])
        return lambda value: {key(name): item(one) for name, one in value}
    if dataclasses.is_dataclass(kind):
        return _object_reader(typing.cast(type, kind))
    if hasattr(kind, "_fields"):
        return _row_reader(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    return lambda value: value


def _object_reader(kind: type) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(kind)
    readers = {
        _stored_name(field): (field.name, _reader(hints[field.name])) for field in dataclasses.fields(kind)
    }

    def read(value: Any) -> Any:
        known = ((*readers[name], item) for name, item in value.items())
        return kind(**{name: reader(item) for name, reader, item in known})

    return read


def _stored_name(field: dataclasses.Field[Any]) -> str:
    return typing.cast(str, field.metadata.get(STORED_NAME, field.name))


def _row_reader(kind: type) -> Callable[[Any], Any]:
    readers = [_reader(hint) for hint in typing.get_type_hints(kind).values()]
    return lambda value: kind(*(read(item) for read, item in zip(readers, value, strict=True)))
