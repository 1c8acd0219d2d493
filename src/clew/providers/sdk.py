"""Objects of SDKs, as the JSON that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.errors import InputError

_DUMPS = ("model_dump", "to_dict", "dict")
"""How objects of SDKs tell what they hold, the most faithful first."""

LONGEST_NUMBER_BITS = 14_000
"""Of a whole number: of longer ones Python refuses to write the digits, 4,300 or more."""


def plain(value: Any) -> Any:  # noqa: ANN401  # whatever an SDK hands out
    """Return a value as JSON; the very same object where it is plain already."""
    if isinstance(value, int) and value.bit_length() > LONGEST_NUMBER_BITS:
        what = "a message list holds a number of thousands of digits"
        raise InputError(what, "nobody writes that as JSON: give it as text")
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
            # Fields that were never set would be sent as null, and some APIs refuse that.
            return plain(dump(exclude_unset=True) if name == "model_dump" else dump())
    raise InputError(
        f"a message list holds an object of type {type(value).__name__}", "give dictionaries or SDK objects"
    )
