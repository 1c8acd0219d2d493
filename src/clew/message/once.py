"""A property that is computed once, for classes of which a compaction makes thousands of objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class once(Generic[Value]):  # noqa: N801  # read like ``property``
    """A ``cached_property`` without the lock it has up to Python 3.11, which costs more than most values.

    Objects with such properties are used by one thread.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the attribute's name."""
        self._name = name

    def __get__(self, item: Any, owner: type) -> Value:  # noqa: ANN401  # whatever has it
        """Compute the value and store it on the object, which may be frozen."""
        value = self._make(item)
        # Not through ``__dict__``, which would have to be created.
        object.__setattr__(item, self._name, value)
        return value
