"""The front matter of a document: fields in its first lines."""

from __future__ import annotations

import re
from typing import TypeAlias

Front: TypeAlias = dict[str, str]
LONGEST = 100
"""Lines that front matter may have."""
_FIELD = re.compile(r"([A-Za-z][\w -]{0,40}?)\s*[:=]\s*(.*)")


def front_matter(lines: list[str]) -> tuple[Front, int]:
    """Return the fields between the first two lines of dashes (or pluses), and how many lines they take.

    Only plain fields such as ``status: active`` are read; nested ones are skipped.
    """
    fence = lines[0].strip() if lines else ""
    if fence not in ("---", "+++"):
        return {}, 0
    for end, line in enumerate(lines[1:LONGEST], start=1):
        if line.strip() == fence:
            found = (_FIELD.fullmatch(one.rstrip()) for one in lines[1:end])
            return {one[1].lower(): one[2].strip("\"' []") for one in found if one}, end + 1
    return {}, 0
