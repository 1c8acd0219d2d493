"""Lines of texts that later edits replaced, found by what the edits quote; and notes instead of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from clew.compaction.propose.edits import EditBlock
from clew.compaction.propose.line_kinds import NUMBERED_LINE
from clew.message.text import lazy_pattern

LEAST_RUN = 3
"""Lines in a row that a note replaces: fewer would save nothing. Chosen by hand."""
_CHANGED = "changed"
_CHANGED_LINES = lazy_pattern(rf"(\[… [\d,]+ lines, {_CHANGED})\]")
_FILE_OF_PATCH = lazy_pattern(r"\*\*\* (?:Update|Add|Delete) File: (.+)")
_DOCUMENT = lazy_pattern(
    r"^(?P<head>[^\n]*<<-?[ \t]*(?P<quote>['\"]?)(?P<tag>\w+)(?P=quote)[^\n]*)\n"
    r"(?P<body>.*?)\n[ \t]*(?P=tag)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
"""A here-document of a command line."""
_TARGET = lazy_pattern(r"(?<![>\d&])>(?!>)[ \t]*['\"]?([\w./~-]+)")
"""The file that a command writes anew."""


Replaced: TypeAlias = list[str]
"""Lines of a file that a later edit quotes, without indentation."""


def with_notes(lines: Sequence[str], why: Sequence[str]) -> str:
    """Return lines with a note for each long run of those with the same reason to leave; "" is none."""
    return "\n".join(_noted(lines, why) if any(why) else lines)


def _noted(lines: Sequence[str], why: Sequence[str]) -> Iterator[str]:
    start = 0
    for i in range(1, len(lines) + 1):
        if i < len(lines) and why[i] == why[start]:
            continue
        if why[start] and i - start >= LEAST_RUN:
            yield f"[… {i - start:,} lines, {why[start]}]"
        else:
            yield from lines[start:i]
        start = i


def without_replaced(text: str, replaced: Sequence[Replaced], name: str) -> str:
    """Return a text of the message ``name`` without the lines that later edits replace."""
    if not replaced:
        return text
    lines = text.split("\n")
    bare = [NUMBERED_LINE.sub("", line).strip() for line in lines]
    why = _reasons(bare, replaced)
    return _naming(with_notes(lines, why), name) if any(why) else text


def _naming(text: str, name: str) -> str:
    """Name the message with the lines in the first note on changed ones: the edit may show little of them."""
    return _CHANGED_LINES.sub(rf"\1; kept as {name}]", text, count=1) if name else text


def _reasons(bare: Sequence[str], replaced: Sequence[Replaced]) -> list[str]:
    """Return for each line why it is outdated; "" if it is not."""
    why = [""] * len(bare)
    if not replaced:
        return why
    places: dict[str, list[int]] = {}
    for i, line in enumerate(bare):
        places.setdefault(line, []).append(i)
    for block in replaced:
        for start in _runs(bare, places, block):
            why[start : start + len(block)] = [_CHANGED] * len(block)
    return why


def _runs(lines: Sequence[str], places: dict[str, list[int]], wanted: Sequence[str]) -> Iterator[int]:
    """Yield where lines occur in a row; the first and the last one may be parts of lines."""
    first, *inner, last = wanted
    for second in places.get(inner[0], ()):
        i, end = second - 1, second + len(inner)
        if (
            i >= 0
            and end < len(lines)
            and lines[i].endswith(first)
            and lines[end].startswith(last)
            and list(lines[second:end]) == inner
        ):
            yield i


# Patches and here-documents ---------------------------------------------------------------------------


def is_patch(text: str) -> bool:
    """Whether a text is a patch of ``apply_patch``."""
    return "*** Begin Patch" in text


def patch_sections(patch: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of a patch file by file, with the path; lines around them without."""
    path, lines = "", list[str]()
    for line in patch.split("\n"):
        header = _FILE_OF_PATCH.fullmatch(line)
        if header or line.startswith("*** End Patch"):
            yield path, lines
            path, lines = header[1] if header else "", []
        lines.append(line)
    yield path, lines


def without_removed(lines: Sequence[str], replaced: Sequence[Replaced], name: str) -> list[str]:
    """Return lines of a patch without those that were replaced later and, if it has a name, removed."""
    bare = ["\0" if line[:1] == "-" else line[1:].strip() for line in lines]
    why = _reasons(bare, replaced)
    if name:
        gone = f"removed; kept as {name}"
        why = [gone if line[:1] == "-" else one for line, one in zip(lines, why, strict=True)]
    return _naming("\n".join(_noted(lines, why)), name).split("\n") if any(why) else [*lines]


def documents(line: str) -> list[EditBlock]:
    """Return the here-documents of a command line that write a file anew."""
    if "<<" not in line:
        return []
    found = ((_TARGET.search(one["head"]), one["body"]) for one in _DOCUMENT.finditer(line))
    return [EditBlock(target[1], "", body, is_whole_file=True) for target, body in found if target]
