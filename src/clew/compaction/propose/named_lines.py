"""Lines of files that a text names: ``rates.py:40-75``, ``rates.py (lines 40 to 75)``, ``12:5 error`` below.

A plan, a request or a failed check says where the work is; text there is worth more than the rest of a file::

    named = NamedLines("Fix `rate` (src/rates.py:40-75), see line 90")
    named.of_file("shop/src/rates.py")  # [(40, 75), (90, 90)]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WITHIN = 600
"""Characters after a path in which a line number without a path is one of its lines; chosen by hand."""
LONGEST_RANGE = 400
"""Lines of a range that names a passage; a longer one is the file. Chosen by hand."""
MOST_REFERENCES = 60
"""References read of a text: a linter lists hundreds. The first say what is next."""
_TO = r"\s?(?:[-–]|to|through)\s?"
_OF_FILES = (
    "py|[jt]sx?|mjs|cjs|go|rs|java|kts?|scala|rb|php|[ch]|cc|cpp|hpp|cs|swift|md|json|ya?ml|toml|sh|sql|s?css"
    "|html?|vue"
)
"""How the name of a file ends if no folder is before it: ``time.Time`` is none."""
_REFERENCE = re.compile(
    rf"(?P<path>(?:(?:[\w.\-@\[\]]+/)+[\w.\-@\[\]]+\.[a-z]\w{{0,5}}|[\w.\-]+\.(?:{_OF_FILES}))(?![\w/]))"
    rf"(?:(?::|#L|\(|\", line )(?P<at>\d{{1,6}})(?:{_TO}L?(?P<end>\d{{1,6}}))?)?"
    rf"|\b[Ll]ines?\s+~?(?P<line>\d{{1,6}})(?:{_TO}(?P<last>\d{{1,6}}))?"
    r"|^\s+(?P<listed>\d{1,6}):\d{1,4}\s+(?:error|warning)\b",
    re.MULTILINE,
)
"""A path, perhaps with a line or a range; a line of the path before; a line that a linter lists below one."""


class NamedLines:
    """The lines of files that a text names."""

    def __init__(self, text: str) -> None:
        self._found: dict[str, list[tuple[int, int]]] = {}
        for path, first, last in _references(text):
            if last - first <= LONGEST_RANGE and sum(map(len, self._found.values())) < MOST_REFERENCES:
                self._found.setdefault(path, []).append((first, max(first, last)))

    def of_file(self, path: str) -> list[tuple[int, int]]:
        """Return the ranges of lines of a file; either path may leave out folders around it."""
        return [
            lines
            for named, found in self._found.items()
            if path == named or path.endswith(f"/{named}") or named.endswith(f"/{path}")
            for lines in found
        ]


def _references(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each named range with its path."""
    path, end = "", 0
    for found in _REFERENCE.finditer(text):
        if found["path"]:
            path, end = found["path"], found.end()
        at = found["at"] or found["line"] or found["listed"]
        if at and path and (found["path"] or found["listed"] or found.start() - end <= WITHIN):
            yield path, int(at), int(found["end"] or found["last"] or at)
            end = found.end()
