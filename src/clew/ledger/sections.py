"""Numbered sections of a request ("## Slice 2: the CLI"), and which of them a text names.

A section has a label: both the heading "## Slice 2: the CLI" and the words "slices 1 and 2" give
``slice#2``. If a report names one section of a request as done and another nowhere, ``left_sections``
returns the other, which stays open. ``CompoundRequests`` uses it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from clew.message import Cite
from clew.message.text import AnyCasePattern, lazy_pattern

MOST_SECTIONS = 8
"""Numbered sections of a request that are told apart; with more it is a procedure. Chosen by hand."""
_LONGEST_READ = 20_000
"""Characters of a request that are searched for sections; chosen by hand."""


class RequestSection(NamedTuple):
    """The heading of a numbered section of a request."""

    text: str
    source: Cite


def _may_name(text: str) -> bool:
    """Return False if a text has none of the words for a section; most texts have none."""
    return not text.isascii() or any(map(text.lower().__contains__, _NAMES))


def numbered_sections(text: str, source: Cite) -> list[RequestSection]:
    """Return the numbered sections of a request; none if it has fewer than two, or many."""
    found: dict[str, RequestSection] = {}
    names: set[str] = set()
    for heading in _HEADING.finditer(text, 0, _LONGEST_READ) if _may_name(text) else ():
        names.add(heading["name"].lower())
        cite = source._replace(start=source.start + heading.start(), end=source.start + heading.end())
        found.setdefault(section_of(heading[0]), RequestSection(heading[0], cite))
    return list(found.values()) if len(names) == 1 and 1 < len(found) <= MOST_SECTIONS else []


def left_sections(
    sections: Sequence[RequestSection], report: str, done: Collection[str], touched: Collection[str]
) -> Iterator[RequestSection]:
    """Yield the sections that a report leaves out: it names another one as done, and these nowhere.

    ``done`` are the stems and labels that it names as done, ``touched`` those named since the request.
    """
    labels = [section_of(section.text) for section in sections]
    if any(label in done for label in labels) and _ALL.search(report) is None:
        for section, label in zip(sections, labels, strict=True):
            if label not in done and label not in touched:
                yield section


def section_of(text: str) -> str:
    """Return the label of a text that is the heading of a numbered section; "" if it is none."""
    heading = _HEADING.fullmatch(text)
    return f"{heading['name'].lower()}#{int(heading['number'])}" if heading else ""


def named_sections(text: str) -> Iterator[str]:
    """Yield the labels of the numbered sections that a text names."""
    for named in _NAMED.finditer(text) if _may_name(text) else ():
        last, is_range = 0, False
        for token in _NUMBER.findall(named["numbers"]):
            if token.isdigit():
                first = last + 1 if is_range else int(token)
                yield from (f"{named['name'].lower()}#{number}" for number in range(first, int(token) + 1))
                last, is_range = int(token), False
            else:
                is_range = True


# What the patterns recognise ---------------------------------------------------------------------------

_NAME = "slice|phase|step|part|stage|milestone"
"""What people call the numbered sections of a request."""
_NAMES = _NAME.split("|")
_HEADING = lazy_pattern(
    rf"^[ \t]*(?:#{{1,6}}[ \t]+|[-*+][ \t]+)?\**(?P<name>{_NAME})[ \t]+(?P<number>\d{{1,2}})\b(?!\.\d)[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
"""The heading of a section: "## Slice 2: the CLI"."""
_NAMED = lazy_pattern(
    rf"\b(?P<name>{_NAME})s?[ \t]+(?P<numbers>\d{{1,2}}(?:[ \t]*(?:,|and|&|to|[-–])[ \t]*\d{{1,2}}\b)*)",
    re.IGNORECASE,
)
"""Words that name sections: "phases 1-3", "step 2 and 4"."""
_ALL = AnyCasePattern(rf"\b(?:all|both|every|each)\s+(?:of\s+the\s+|the\s+)?(?:\w+\s+)?(?:{_NAME})s?\b")
"""Words about all sections: "all of the phases"."""
_NUMBER = lazy_pattern(r"\d+|[-–]|to")
"""The numbers and range signs in "1, 2 to 4"."""
