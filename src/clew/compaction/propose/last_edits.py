"""The last edit of each changed file, as a small diff for the digest.

A claim is made from the call that made the edit: the file's name and a few of the lines that it added::

    src/rates.py
    + def rate(day, factor=1.0):
    + return table[day] * factor
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from clew.compaction.plan import Claim, ClaimKind
from clew.compaction.propose.citations import Find
from clew.compaction.propose.current_text import is_inside
from clew.compaction.propose.edits import edits, patch_blocks, written_text
from clew.compaction.propose.excerpt import STRUCTURE
from clew.compaction.propose.report_quotes import SHORTEST_SENTENCE
from clew.ledger.artifacts import Artifact
from clew.ledger.shell import Action
from clew.message import Cite, ToolCall, Trust, words
from clew.message.parts import json_strings

EDIT_LINES, LONGEST_EDIT, MOST_ADDED = 6, 140, 400
"""Lines quoted of an edit, the characters of each, and lines considered."""
_SAYS_LITTLE = re.compile(r"\s*(?:#|//|/?\*|--|\"\"\"|import\b|from\b|use\b|using\b|package\b|#include)")
"""A comment or an import."""


def last_edits(changed: Sequence[Artifact], gone: Collection[str], find: Find) -> Iterator[Claim]:
    """Yield what the last edit of each file inserted, as a small diff: new files first, then the latest.

    Files that were deleted since, perhaps with their folder, have none.
    """
    deleted = [(one.name, one.last.number) for one in changed if one.action is Action.DELETED]
    order = sorted(
        changed, key=lambda one: (not one.created, -one.last_change.number if one.last_change else 0)
    )
    for artifact in order:
        cite = artifact.last_change
        message = find(cite.message) if cite and cite.message in gone else None
        part = message.parts[cite.part] if message and cite and cite.part < len(message.parts) else None
        if cite is None or not isinstance(part, ToolCall):
            continue
        if any(cite.number < at and is_inside(artifact.name, folder) for folder, at in deleted):
            continue
        added = list(islice(_added(part, artifact.name), MOST_ADDED))
        added = _definitions(added) if _is_new(part, artifact.name) else _most_informative(added)
        if added and artifact.name in words(part):  # JSON writes a Windows path differently
            lines = "".join(f"\n+ {line}" for line in added)
            cites = (Cite(cite.message, cite.part),)
            yield Claim("", ClaimKind.ARTIFACT, f"{artifact.name}{lines}", cites, Trust.UNTRUSTED)


def _most_informative(lines: list[str]) -> list[str]:
    """Return a few of the lines, in order: those that define something first, comments and imports last."""
    weight = [0 if STRUCTURE.match(line) else 2 if _SAYS_LITTLE.match(line) else 1 for line in lines]
    best = sorted(range(len(lines)), key=lambda i: weight[i])
    return [lines[i] for i in sorted(best[:EDIT_LINES])]


def _is_new(call: ToolCall, name: str) -> bool:
    """Whether a call writes a whole file, also as one of the files of a patch."""
    if written_text(call.arguments) is not None:
        return True
    patches = (text for text in json_strings(call.arguments) if "*** Add File" in text)
    blocks = (block for patch in patches for block in patch_blocks(patch))
    return any(block.is_whole_file and name.endswith(block.path) for block in blocks)


def _definitions(lines: list[str]) -> list[str]:
    """Return the first lines of a new file that define something: other lines of it say little alone."""
    return list(islice(filter(STRUCTURE.match, lines), EDIT_LINES))


def _added(call: ToolCall, name: str) -> Iterator[str]:
    """Yield the lines an edit inserts into a file, except those that look different in the call's JSON."""
    said = words(call)
    for old, new in edits(call.arguments, name):
        before = {line.strip() for text in old for line in text.split("\n")}
        for line in (line.strip() for text in new for line in text.split("\n")):
            if len(line) >= SHORTEST_SENTENCE and line not in before and line in said:
                yield line[:LONGEST_EDIT]
