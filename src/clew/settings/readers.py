"""Reading one setting: from a TOML value or from the words of a variable or a flag.

A reader returns the value or raises ``ValueError`` with what is wanted instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias, TypeVar

Reader: TypeAlias = Callable[[object], object]
Choice = TypeVar("Choice", bound=StrEnum)

_YES_NO = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def words(given: object) -> str:
    """Read text."""
    if not isinstance(given, str):
        raise ValueError("wants text in quotes")  # noqa: TRY004 - the value is wrong, the caller is not
    return given.strip()


def yes_no(given: object) -> bool:
    """Read true or false; in a variable also 1, 0, yes, no, on, off."""
    if isinstance(given, bool):
        return given
    known = _YES_NO.get(given.strip().lower()) if isinstance(given, str) else None
    if known is None:
        raise ValueError("wants true or false")
    return known


def whole(given: object) -> int:
    """Read a number of 0 or more: 200000, 200_000, 200k."""
    if isinstance(given, int) and not isinstance(given, bool):
        number = given
    elif isinstance(given, str) and (digits := given.strip().lower().replace("_", "").replace(",", "")):
        times = {"k": 1_000, "m": 1_000_000}.get(digits[-1], 1)
        number = int(digits.rstrip("km")) * times if digits.rstrip("km").isdecimal() else -1
    else:
        number = -1
    if number < 0:
        raise ValueError("wants a whole number that is not below 0")
    return number


def some(given: object) -> int:
    """Read a number of 1 or more."""
    number = whole(given)
    if not number:
        raise ValueError("wants a whole number above 0")
    return number


def share(given: object) -> float:
    """Read a part of a whole: 0.85 or 85%."""
    try:
        if isinstance(given, str) and given.strip().endswith("%"):
            part = float(given.strip()[:-1]) / 100
        elif isinstance(given, str | int | float) and not isinstance(given, bool):
            part = float(given)
        else:
            part = 0.0
    except ValueError:
        part = 0.0
    if not 0 < part <= 1:
        raise ValueError("wants a share above 0 and at most 1, like 0.85 or 85%")
    return part


def path(given: object) -> Path:
    """Read a path; ``~`` is the person's own directory."""
    written = words(given)
    if not written:
        raise ValueError("wants a path")
    return Path(written).expanduser()


def paths(given: object) -> tuple[Path, ...]:
    """Read paths: a list, or in a variable one text parted as ``PATH`` is."""
    listed = given if isinstance(given, list | tuple) else words(given).split(os.pathsep)
    return tuple(path(one) for one in listed if one)


def one_of(choices: type[Choice]) -> Callable[[object], Choice]:
    """Return a reader of one of these words."""

    def read(given: object) -> Choice:
        try:
            return choices(words(given))
        except ValueError:
            raise ValueError(f"wants one of {', '.join(choices)}") from None

    return read
