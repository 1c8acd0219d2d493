"""Convert SDK objects to plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.errors import InputError

_DUMPS = ("model_dump", "to_dict", "dict")
"""Methods with which SDK objects export their fields, the most faithful first."""

LONGEST_NUMBER_BITS = 14_000
"""About 4,200 decimal digits: Python refuses to write integers of more than 4,300."""


def plain(value: Any) -> Any:  # noqa: ANN401  # any object of an SDK
    """Return a value as plain JSON; the same object if it is plain already."""
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
