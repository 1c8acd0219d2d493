"""Lines of code that edits removed: earlier quotes of them no longer describe the current state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from clew.message import Item, Json, ToolCall, ToolResult

SHORTEST = 8
"""Characters from which a line is taken to be the same wherever it occurs."""
_OLD = re.compile(r"old(?=$|_|[A-Z])|search$")
"""Names of arguments with the text to replace; the argument with the new text is named alike."""
_NEW = {"old": "new", "search": "replace"}
_ARGUMENT = re.compile(r"\"[A-Za-z_]+\": \"")
_PATCHED = re.compile(r"^(?:@@|\*\*\* (?:Begin Patch|Update File))", re.MULTILINE)
_ESCAPED_SPACE = re.compile(r"\\[nrt]")
_FOUND_AT = re.compile(r"\s*(?:[\w./@+~-]+\.\w+[:-]\d+(?:[:-]\d+)?[:-]|\d+(?:→|\t|│|: ?)|[+-](?=\s))")
"""The prefix of a line in search results, numbered listings and diffs."""
_ESCAPED = re.compile(r"\\([\"\\/])")


class Replaced:
    """What edits took out, and when."""

    def __init__(self, view: Sequence[Item]) -> None:
        """Read the edits of a view that did not fail, oldest first; what one puts back is in again."""
        self._out: dict[str, int] = {}
        calls: list[tuple[int, ToolCall]] = []
        failed: set[str] = set()
        for place, item in enumerate(view):
            for part in item.message.parts:
                if isinstance(part, ToolCall):
                    calls.append((place, part))
                elif isinstance(part, ToolResult) and part.is_error:
                    failed.add(part.call_id)
        for place, call in calls:
            if call.call_id not in failed:
                for old, new in edits(call.arguments):
                    self._take(old, new, place)
        self._ends = {line[-SHORTEST:] for line in self._out}
        """How they end: nearly every line is told by that to be none of them, whatever stands before it."""

    def _take(self, old: Iterable[str], new: Iterable[str], place: int) -> None:
        put_in = set(_lines(new))
        for line in put_in:
            self._out.pop(line, None)
        for line in _lines(old):
            if line not in put_in:
                self._out[line] = place

    def holds(self, quote: str, place: int) -> bool:
        """Tell whether a line that was quoted at a place of the view was taken out there, or later."""
        if not self._out or (_is_plain(quote) and quote[-SHORTEST:] not in self._ends):
            return False
        shown = (line for line in _quoted_lines(quote) if line[-SHORTEST:] in self._ends)
        return any(self._out.get(form, -1) >= max(place, 0) for line in shown for form in _forms(line))


def _is_plain(quote: str) -> bool:
    """Tell whether a quote is one line as it stands in its file, or as a search shows it."""
    return "\n" not in quote and "\\" not in quote and not quote.startswith('"') and not quote[-1:].isspace()


def _forms(line: str) -> Iterator[str]:
    """Yield a line as it is shown, and without what a tool writes before it."""
    yield line
    if found_at := _FOUND_AT.match(line):
        yield line[found_at.end() :].strip()


def _quoted_lines(quote: str) -> Iterator[str]:
    """Yield the lines that a quote shows."""
    begun = _ARGUMENT.match(quote) if quote.startswith('"') else None
    text = quote[begun.end() :].removesuffix('"') if begun else quote
    if "\\" in text:
        yield _ESCAPED.sub(r"\1", text).strip()
        text = _ESCAPED.sub(r"\1", _ESCAPED_SPACE.sub("\n", text))
    yield from (line.strip() for line in text.split("\n"))


def _lines(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for line in text.split("\n"):
            if len(line := line.strip()) >= SHORTEST:
                yield line


def edits(arguments: Json) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the removed and the inserted texts of each edit in a call."""
    if isinstance(arguments, str):
        if ("@@" in arguments or "***" in arguments) and _PATCHED.search(arguments):
            yield _patched(arguments)
    elif isinstance(arguments, list):
        for one in arguments:
            yield from edits(one)
    elif isinstance(arguments, Mapping):
        for name, value in arguments.items():
            other = _counterpart(name)
            new = arguments.get(other) if other else None
            if isinstance(value, str) and isinstance(new, str):
                yield [value], [new]
            else:
                yield from edits(value)


@lru_cache(maxsize=1_000)
def _counterpart(name: str) -> str:
    """Return the name of the argument with the new text for this one; "" if this is not an old text."""
    old = _OLD.match(name)
    return f"{_NEW[old[0]]}{name[old.end() :]}" if old else ""


def _patched(patch: str) -> tuple[list[str], list[str]]:
    lines = patch.split("\n")
    old = [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")]
    new = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    return old, new
