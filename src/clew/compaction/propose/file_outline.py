"""The names that a source file defines, or the headings of a document, as one line.

It is shown instead of a long text that a tool returned if there is room for a line or two: it tells the agent
which part to read again. ``outline_of`` takes the text and its lines with definitions or headings::

    12 rate, 40 RateTable, 58 load and 3 more
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from clew.compaction.propose.lines import Span

LEAST_OUTLINE = 2
"""Definitions from which their names say more about a file than one of its lines."""
_DEFINED = re.compile(
    r"(?P<margin>[ \t]*)(?:(?P<number>\d++)(?:[:→|.]?)(?P<indent>[ \t]*+))?+"
    r"(?:(?:export|default|public|private|protected|static|abstract|async|pub|final|override)[ \t]++)*+"
    r"(?:(?P<heading>#{1,4})[ \t]++(?P<title>.*)|(?:describe|it|test)\([\"'`](?P<test>[^\"'`]*).*"
    r"|[a-z]++[ \t]++(?:\([^)]*\)[ \t]*)?(?P<name>[\w$]++)(?P<rest>.*))"
)
"""The parts of such a line: a line number and the name of what it defines."""


class Definition(NamedTuple):
    """A name that a line defines, or a heading."""

    depth: int
    """The level of a heading; otherwise how far the line is indented."""
    start: int
    """Where its line begins."""
    name: str
    """With its line number, if the text has line numbers."""
    is_heading: bool


def definitions(text: str, lines: Iterable[Span]) -> list[Definition]:
    """Return what these lines define: the headings of a document, or else names."""
    found = [one for line in lines if (one := _definition(text, line))]
    is_prose = any(one.is_heading and one.depth > 1 for one in found)  # in code: comments
    return [one for one in found if one.is_heading == is_prose] or found


def outline_of(found: Sequence[Definition], most_characters: int, least: int = LEAST_OUTLINE) -> str:
    """Return names, those at the left margin first; "" if fewer than ``least`` fit."""
    left = most_characters
    taken: list[Definition] = []
    for one in sorted(found):
        if len(one.name) + 2 <= left:
            taken.append(one)
            left -= len(one.name) + 2
    if len(taken) < least:
        return ""
    more = len(found) - len(taken)
    taken.sort(key=lambda one: one.start)
    return ", ".join(one.name for one in taken) + (f" and {more} more" if more else "")


def _definition(text: str, line: Span) -> Definition | None:
    """Return what a line defines; None if it only imports a name."""
    parts = _DEFINED.fullmatch(text[slice(*line)].rstrip("\r"))
    if parts is None or (parts["name"] and parts["rest"].strip() == ","):  # a name that is imported
        return None
    indent = parts["margin"] if parts["number"] is None else parts["indent"]
    depth = len(parts["heading"] or indent.expandtabs(4))
    name = (parts["title"] or parts["test"] or parts["name"] or "").strip()
    number = f"{parts['number']} " if parts["number"] else ""
    return Definition(depth, line[0], f"{number}{name}", parts["heading"] is not None) if name else None
