"""The names that a source file defines, or the headings of a document, as one line.

It is shown instead of a long text that a tool returned if there is room for a line or two: it tells the agent
which part to read again. ``outline_of`` takes the text and its lines with definitions or headings::

    12 rate, 40 RateTable, 58 load and 3 more
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from clew.compaction.propose.lines import Span

LEAST_OUTLINE = 2
"""Definitions from which their names say more about a file than one of its lines."""
_DEFINED = re.compile(
    r"(?P<margin>[ \t]*)(?:(?P<number>\d++)(?:[:→|]?)(?P<indent>[ \t]*+))?"
    r"(?:(?:export|default|public|private|protected|static|abstract|async|pub|final|override)[ \t]++)*+"
    r"(?:(?P<heading>#{1,4})[ \t]++(?P<title>.*)|(?:describe|it|test)\([\"'`](?P<test>[^\"'`]*).*"
    r"|\w++[ \t]++(?:\([^)]*\)[ \t]*)?(?P<name>[\w$]++)(?P<rest>.*))"
)
"""The parts of such a line: a line number and the name of what it defines."""


class _Definition(NamedTuple):
    """A name that a line defines, or a heading."""

    depth: int
    """The level of a heading; otherwise how far the line is indented."""
    order: int
    """Its place among the lines with definitions."""
    name: str
    """With its line number, if the text has line numbers."""
    is_heading: bool


def outline_of(text: str, lines: Iterable[Span], most_characters: int) -> str:
    """Return the names that these lines define, those at the left margin first; "" if there are too few."""
    found = [one for index, line in enumerate(lines) if (one := _definition(text, line, index))]
    is_prose = any(one.is_heading and one.depth > 1 for one in found)  # in code: comments
    found = [one for one in found if one.is_heading == is_prose] or found
    left = most_characters
    taken: dict[int, str] = {}
    for one in sorted(found):
        if len(one.name) + 2 <= left:
            taken[one.order] = one.name
            left -= len(one.name) + 2
    if len(taken) < LEAST_OUTLINE:
        return ""
    more = len(found) - len(taken)
    return ", ".join(taken[index] for index in sorted(taken)) + (f" and {more} more" if more else "")


def _definition(text: str, line: Span, index: int) -> _Definition | None:
    """Return what a line defines; None if it only imports a name."""
    parts = _DEFINED.fullmatch(text[slice(*line)].rstrip("\r"))
    if parts is None or (parts["name"] and parts["rest"].strip() == ","):  # a name that is imported
        return None
    indent = parts["margin"] if parts["number"] is None else parts["indent"]
    depth = len(parts["heading"] or indent.expandtabs(4))
    name = (parts["title"] or parts["test"] or parts["name"] or "").strip()
    number = f"{parts['number']} " if parts["number"] else ""
    return _Definition(depth, index, f"{number}{name}", parts["heading"] is not None) if name else None
