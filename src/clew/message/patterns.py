"""Regular expressions that are compiled on first use, so that importing a module with many is cheap.

``_PATH = lazy_pattern("[a-z]+/[a-z]+")`` is used like the result of ``re.compile``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any, cast

LINE_NUMBER = r"\d+(?:→|\t|: |\|)"
"""What tools put before a line of a file, as a part of patterns."""
_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class _LazyPattern:
    """Compiles a pattern when one of its methods is first used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # any attribute of the compiled pattern
        """Compile the pattern and keep its methods, so that this is called once."""
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"lazy_pattern({self.pattern!r}, {self._flags!r})"


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled on first use; an error in it shows only then."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


class AnyCasePattern:
    """A case-insensitive pattern for callers that need only the places of matches.

    It is written in lower case. ASCII text is lower-cased before it is searched: case-insensitive matching
    takes up to ten times as long. The words of a match may therefore be in lower case.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        """Take a pattern in lower case; ``re.IGNORECASE`` is implied."""
        self.pattern = pattern
        self._lower = lazy_pattern(pattern, flags)
        self._any = lazy_pattern(pattern, flags | re.IGNORECASE)

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """Return the first match between two places."""
        pattern, searched = self.applied_to(text)
        return pattern.search(searched, start, end)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches."""
        pattern, searched = self.applied_to(text)
        return pattern.finditer(searched)

    def applied_to(self, text: str) -> tuple[re.Pattern[str], str]:
        """Return a pattern and the text to search with it, for several searches in one text."""
        return (self._lower, text.lower()) if text.isascii() else (self._any, text)
