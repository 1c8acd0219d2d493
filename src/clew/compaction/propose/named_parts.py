"""Names of parts of a plan or a backlog: ``FW-005``, ``T012``, ``Phase 2``, ``Task 1.3``.

Who names one means the section of a document that has the name in its heading, not all of the document::

    names_in("Pick up FW-005 first")  # {"fw-005"}
    named_sections(["# Backlog", "## FW-004", "...", "## FW-005", "..."], {"fw-005"})  # [(3, 5)]
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

_CODE = re.compile(r"\b(?:(?:[A-Z][A-Za-z]{0,7}\d{0,3}-){1,3}\d{1,5}|[A-Z]{1,3}\d{2,4})\b")
"""Letters and a number: ``FW-005``, ``F1-PBI-1``, ``T012``."""
_NUMBERED = re.compile(
    r"\b(?P<kind>phase|task|step|story|epic|stage|milestone|part|sprint|section|wave|chapter"
    r"|fase|tarea|tarefa|etapa|schritt|aufgabe|étape|фаза|задача|шаг|этап)\s+#?(?P<number>\d{1,3}(?:\.\d{1,3})*)\b",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"(?:#{1,6}\s+|[-*+] \[[ xX]\] )[*_]{0,2}(\d{1,3}(?:\.\d{1,3})+)\b")
"""The number that a heading or an item begins with."""
_HEADING = re.compile(r"(#{1,6})\s+\S")


def names_in(text: str) -> set[str]:
    """Return the names of parts in a text, in lower case; of ``Task 1.3`` the number, which is unique."""
    found = {code.lower() for code in _CODE.findall(text)}
    for kind, number in _NUMBERED.findall(text):
        found.add(number if "." in number else f"{kind.lower()} {number}")
    return found


def is_named(line: str, names: Collection[str]) -> bool:
    """Whether a heading or an item has one of these names."""
    if not names:
        return False
    number = _DOTTED.match(line.strip())
    return not names_in(line).isdisjoint(names) or (number is not None and number[1] in names)


def heading_level(line: str) -> int:
    """Return the level of a heading of Markdown; 0 for any other line."""
    heading = _HEADING.match(line)
    return len(heading[1]) if heading else 0


def named_sections(lines: Sequence[str], names: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the first index and the index behind the last line of each section with one of these names."""
    start = level = 0
    fenced = False
    for i, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        own = 0 if fenced else heading_level(line)
        if level and own and own <= level:
            yield start, i
            level = 0
        if own and not level and is_named(line, names):
            start, level = i, own
    if level:
        yield start, len(lines)
