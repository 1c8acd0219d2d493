"""The edits of files in the arguments of calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from clew.message import Json

_OLD = re.compile(r"old(?=$|_|[A-Z])|search$")
"""Names of arguments with the text to replace; the argument with the new text is named alike."""
_NEW = {"old": "new", "search": "replace"}
_WRITTEN = ("content", "file_text", "contents")
"""Names of the argument with the whole text of a file."""
_PATCHED = re.compile(r"^(?:@@|\*\*\* (?:Begin Patch|Update File))", re.MULTILINE)


def edits(arguments: Json) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the removed and the inserted texts of each edit in a call."""
    if isinstance(arguments, str):
        if ("@@" in arguments or "***" in arguments) and _PATCHED.search(arguments):
            yield _patched(arguments)
    elif isinstance(arguments, list):
        for one in arguments:
            yield from edits(one)
    elif isinstance(arguments, Mapping):
        if isinstance(written := next((arguments[key] for key in _WRITTEN if key in arguments), None), str):
            yield [], [written]
        for name, value in arguments.items():
            other = counterpart(name)
            new = arguments.get(other) if other else None
            if isinstance(value, str) and isinstance(new, str):
                yield [value], [new]
            else:
                yield from edits(value)


@lru_cache(maxsize=1_000)
def counterpart(name: str) -> str:
    """Return the name of the argument with the new text for this one; "" if this is not an old text."""
    old = _OLD.match(name)
    return f"{_NEW[old[0]]}{name[old.end() :]}" if old else ""


def _patched(patch: str) -> tuple[list[str], list[str]]:
    lines = patch.split("\n")
    old = [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")]
    new = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    return old, new
