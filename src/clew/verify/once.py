"""What is worked out when it is first asked for, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Kept = TypeVar("Kept")


class once(Generic[Kept]):  # noqa: N801  # read like ``property``
    """A ``cached_property`` without the lock that Python has around it up to 3.11.

    Thousands of claims are looked at for the length of one check, in one thread: there the lock costs more
    than most of what it guards.
    """

    def __init__(self, make: Callable[[Any], Kept]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Learn what it is called."""
        self._name = name

    def __get__(self, one: Any, owner: type) -> Kept:  # noqa: ANN401  # whatever has it
        """Work it out; from then on the object itself answers."""
        kept = self._make(one)
        setattr(one, self._name, kept)  # not by its ``__dict__``, which would have to be made for it
        return kept
