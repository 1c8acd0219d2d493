"""Instruction files (AGENTS.md, CLAUDE.md, …, rules for paths) and skills, as pieces of a request.

``load(Disk(), usual_roots(project, trusted=True), touched=["src/app.py"])`` of ``load.py`` returns the files
that apply to work on ``src/app.py``; ``pieces_of`` turns them into pieces, ``changes`` into events of the
log.

A file that becomes active after the first request goes to the end of later ones (``Piece.late``) until the
next compaction: in the system prompt it would invalidate the provider's cache.

Of a project's skills only an index is sent: the name, description and path of each SKILL.md. The agent opens
a skill when it needs it, with its own tool for reading files. A file that may not become an instruction,
because of a link, another repository or invisible characters, is not listed; secrets are masked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from clew.log.fold import CALL, COMPACTION, INSTRUCTION, MESSAGE, SWITCH, UNDO
from clew.log.protocol import StoredEvent
from clew.message import JsonObject, Role, Trust
from clew.message.text import ellipsize, one_line
from clew.providers.shapes import as_object, as_text
from clew.request.instructions.files import (
    Disk,
    FileKind,
    InstructionScope,
    Roots,
    usual_roots,
    why_not_followed,
)
from clew.request.instructions.load import (
    Instruction,
    LoadedInstructions,
    LoadLimits,
    Refused,
    hides_text,
    load,
)
from clew.request.instructions.parse import front_matter
from clew.request.sections import INSTRUCTIONS, SKILLS, Piece
from clew.secrets import mask

__all__ = [
    "Disk", "FileKind", "Instruction", "InstructionScope", "LoadLimits", "LoadedInstructions", "Refused",
    "Roots", "changes", "load", "pieces_of", "settled_ids", "skill_index", "usual_roots",
]  # fmt: skip


def changes(before: LoadedInstructions, after: LoadedInstructions) -> Iterator[JsonObject]:
    """Yield the bodies of ``instruction`` events: files that were loaded, changed, removed or refused."""
    for instruction in after.instructions:
        known_instruction = before.get(instruction.id)
        if known_instruction != instruction:
            yield _body("load" if known_instruction is None else "change", instruction)
    for instruction in before.instructions:
        if after.get(instruction.id) is None:
            yield _body("leave", instruction)
    for refused in after.refused:
        if refused not in before.refused:
            yield {"does": "refuse", "path": refused.path, "why": refused.why}


def _body(does: str, instruction: Instruction) -> JsonObject:
    return {
        "does": does,
        "id": instruction.id,
        "path": instruction.path,
        "scope": instruction.scope.value,
        "sha256": instruction.sha256,
        "includes": dict(instruction.includes),
    }


def settled_ids(events: Iterable[StoredEvent]) -> frozenset[str]:
    """Return the ids of the instructions that belong in the stable part of a request.

    Those recorded before the first model call of the session, or before the first one after a compaction. A
    later one would invalidate the provider's cache, so it goes to the end until the next compaction.
    """
    inside: set[str] = set()  # in the stable part
    late: set[str] = set()  # at the end, until the next compaction
    cached = False  # whether the provider may have cached the beginning of the request
    for stored in events:
        kind, body = stored.event.kind, stored.event.body
        if kind in _REWRITING:
            inside |= late
            late.clear()
            cached = False
        elif _asks_model(kind, body):
            cached = True
        elif kind == INSTRUCTION.name and (name := as_text(body.get("id"))):
            added_to = late if cached else inside
            if as_text(body.get("does")) == "leave":
                inside.discard(name)
                added_to.discard(name)
            elif name not in inside:
                added_to.add(name)
    return frozenset(inside)


_REWRITING = frozenset({COMPACTION.name, UNDO.name, SWITCH.name})
"""Events that change the beginning of a request, so the cache is invalid anyway."""


def _asks_model(kind: str, body: JsonObject) -> bool:
    spoke = kind == MESSAGE.name and as_object(body.get("message")).get("role") == Role.ASSISTANT.value
    return spoke or kind == CALL.name


def pieces_of(loaded: LoadedInstructions, settled_ids: Collection[str]) -> list[Piece]:
    """Return the instructions as pieces of a request, the widest scope first."""
    return [
        Piece(
            INSTRUCTIONS,
            instruction.text,
            instruction.label,
            instruction.trust,
            late=instruction.id not in settled_ids,
        )
        for instruction in loaded.instructions
    ]


# Skills -------------------------------------------------------------------------------------------------

FOLDERS = (".claude/skills", ".agents/skills", "skills")
"""Where skills are looked for, below the project."""
MOST_SKILLS = 100
"""Skills that are listed (chosen by hand)."""
_LONGEST_DESCRIPTION = 400
"""Characters of a description (chosen by hand)."""
_FIELD = re.compile(
    r"^(name|description):[ \t]*(?:[|>][-+1-9]{0,2}[ \t]*$)?(.*(?:\n[ \t]+.*)*)", re.MULTILINE
)
"""A field of the header with its value, without a YAML block indicator such as ``|`` or ``>-``."""


def skill_index(root: Path, is_ignored: Callable[[str], bool] = lambda _path: False) -> Piece | None:
    """Return the skills below a trusted folder as one piece; None if there are none.

    ``is_ignored`` says which files do not count, such as those that the session itself wrote.
    """
    lines = list(_skill_lines(root, is_ignored))[:MOST_SKILLS]
    if not lines:
        return None
    text = "\n".join(["Before work that one of them is about, read its file.", *lines])
    return Piece(SKILLS, text, "skills", Trust.USER, cuttable=True)


def _skill_lines(root: Path, is_ignored: Callable[[str], bool]) -> Iterator[str]:
    root = root.resolve()
    for folder in FOLDERS:
        for path in sorted(root.glob(f"{folder}/*/SKILL.md")):
            text = "" if is_ignored(path.resolve().as_posix()) else _text(path, root)
            header = mask(front_matter(text)[0]).text
            fields = {name: _flat(value) for name, value in _FIELD.findall(header)}
            if fields.get("description"):
                name = fields.get("name") or path.parent.name
                yield f"- {name}: {fields['description']} ({path.relative_to(root).as_posix()})"


def _text(path: Path, root: Path) -> str:
    """Return the beginning of a skill's file; empty if it may not be listed."""
    disk, name = Disk(), path.as_posix()
    if not path.parent.name.isprintable() or why_not_followed(name, root.as_posix(), disk):
        return ""
    content = disk.read(name, LoadLimits().one_file) or b""
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return "" if hides_text(text) else text


def _flat(text: str) -> str:
    return ellipsize(one_line(text).strip("\"'"), _LONGEST_DESCRIPTION)
