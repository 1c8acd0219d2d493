"""Check that the fields of a value match their annotations, for values built from untrusted JSON.

``check_fields(Text(text=3))`` raises ``TypeError: Text.text cannot be 3``, since ``Text.text`` is a ``str``.
"""

# ruff: noqa: ANN401  # any value may be checked

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from clew.message.parts import Json

_T = TypeVar("_T")
_Test = Callable[[Any], bool]


def check_fields(value: _T) -> _T:
    """Return the value unchanged; raise ``TypeError`` if a field does not match its annotation.

    Checks tuples, named tuples and data classes recursively. Fields annotated as JSON may hold any JSON.
    """
    kind: Any = type(value)
    for name, fits in _fields(kind):
        content = getattr(value, name)
        if not fits(content):
            raise TypeError(f"{type(value).__name__}.{name} cannot be {content!r:.80}")
    return value


@cache
def _fields(kind: Any) -> tuple[tuple[str, _Test], ...]:
    hints = typing.get_type_hints(kind, localns={"Json": Json})  # a recursive alias
    names = getattr(kind, "_fields", None) or [field.name for field in dataclasses.fields(kind)]
    return tuple((name, test) for name in names if (test := _test(hints[name])) is not _anything)


@cache
def _test(hint: Any) -> _Test:
    """Return a test whether a value has the type of an annotation, such as ``tuple[str, ...] | None``."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):  # str | None
        return _union(inner)
    if origin is typing.Literal:  # Literal["image", "audio"]
        return lambda value: isinstance(value, str) and value in inner
    if origin is tuple:  # tuple[str, ...]
        item, scalar = _test(inner[0]), {inner[0]}
        if inner[0] in (str, int):  # a digest may cover a million messages
            return lambda value: isinstance(value, tuple) and set(map(type, value)) <= scalar
        return lambda value: isinstance(value, tuple) and all(map(item, value))
    if origin in (dict, list):
        return lambda value: isinstance(value, origin)  # JSON: checked by the code that uses it
    if origin is not None or not isinstance(hint, type):  # Json, and other hints that are not classes
        return _anything
    if hint in (int, float):
        number = (int, float) if hint is float else int
        return lambda value: isinstance(value, number) and not isinstance(value, bool)
    if hasattr(hint, "_fields") or dataclasses.is_dataclass(hint):
        return lambda value: isinstance(value, hint) and _fields_match(value)
    return lambda value: isinstance(value, hint)


def _union(hints: tuple[Any, ...]) -> _Test:
    if all(map(_is_class, hints)):
        return lambda value: isinstance(value, hints)
    options = [_test(option) for option in hints]
    return _anything if _anything in options else lambda value: any(fits(value) for fits in options)


def _is_class(hint: Any) -> bool:
    """Return True if a value fits the hint whenever it is an instance of it."""
    return isinstance(hint, type) and (hint in (str, bool, type(None)) or issubclass(hint, Enum))


def _fields_match(value: Any) -> bool:
    kind: Any = type(value)
    return all(fits(getattr(value, name)) for name, fits in _fields(kind))


def _anything(_value: Any) -> bool:
    return True
